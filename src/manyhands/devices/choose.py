"""Turn what the user names into JAX devices that one program can span.

In: names, JAX devices, or nothing (every local device).  Out: a tuple of JAX devices.
Checks that each is here, named once, and like the others; starts JAX, trains nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from manyhands.devices.names import DeviceName, parse
from manyhands.errors import DeviceError, explain

JaxDevice: TypeAlias = Any
"""A JaxDevice, which JAX exports as a variable that type checkers cannot read."""
DeviceLike: TypeAlias = "str | DeviceName | JaxDevice"


def name_of(device: JaxDevice) -> DeviceName:
    """Name a JAX device by its place among those of its kind in its process."""
    kind = device.platform
    alike = [d for d in device.client.devices() if d.process_index == device.process_index]
    return DeviceName(kind, alike.index(device))


def local_devices(kind: str | None = None) -> list[JaxDevice]:
    """List this process' devices of a kind, or of JAX's default kind; none is no error."""
    import jax

    try:
        return list(jax.local_devices(backend=kind))
    except RuntimeError:  # JAX's word for "no such platform here"
        if kind is None:
            raise
        return []


def resolve(devices: DeviceLike | Iterable[DeviceLike] | None = None) -> tuple[JaxDevice, ...]:
    """Find the devices that are meant: all local ones, or those named."""
    if devices is None:
        return require_alike(local_devices())
    found = [find(device) for device in _listed(devices)]
    if not found:
        raise DeviceError(
            explain(
                "A strategy needs at least one device.",
                got="an empty list",
                fix="name devices, or leave the argument out to use every local device.",
            )
        )
    repeated = [device for device, count in Counter(found).items() if count > 1]
    if repeated:
        raise DeviceError(
            explain(
                "A device was named more than once.",
                got=", ".join(str(name_of(device)) for device in found),
                fix=f"name {name_of(repeated[0])} once.",
            )
        )
    return require_alike(found)


def _listed(devices: DeviceLike | Iterable[DeviceLike]) -> list[DeviceLike]:
    if isinstance(devices, str | DeviceName) or not isinstance(devices, Iterable):
        return [devices]
    return list(devices)


def find(device: DeviceLike) -> JaxDevice:
    """Find one device by any of its spellings."""
    import jax

    if isinstance(device, jax.Device):
        return device
    text = device if isinstance(device, str) else getattr(device, "name", device)
    name = text if isinstance(text, DeviceName) else parse(str(text))
    here = local_devices(name.kind)
    if name.index < len(here):
        return here[name.index]
    visible = [name_of(d) for d in local_devices()]
    if visible and visible[0].kind != "cpu":
        visible += [name_of(d) for d in local_devices("cpu")]
    raise DeviceError(
        explain(
            "A device was named that is not here.",
            got=f"{name}; visible: {', '.join(map(str, visible))}",
            fix="choose from the visible devices, run `manyhands devices` to see why one is "
            "hidden, or make virtual CPU devices with mh.config.set_virtual_devices(n).",
        )
    )


def require_alike(devices: Sequence[JaxDevice]) -> tuple[JaxDevice, ...]:
    """Refuse devices that one XLA program cannot span, naming them."""
    if len({(device.platform, device.device_kind) for device in devices}) > 1:
        raise DeviceError(
            explain(
                "These devices are unlike, and one program cannot span unlike devices.",
                got=", ".join(f"{name_of(d)} ({d.device_kind})" for d in devices),
                fix="name devices of one model only, e.g. "
                f'["{name_of(devices[0])}"], or run one process per model of GPU.',
            )
        )
    return tuple(devices)
