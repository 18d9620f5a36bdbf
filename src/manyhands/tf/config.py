"""tf.config: the machine's devices, and how much of their memory we take.

In: TensorFlow's names.  Out: the same acts on JAX: visibility, memory growth and limits, virtual
CPU devices.  Physical devices are listed without starting JAX, so that programs can set things
first; afterwards the same calls raise the RuntimeError that such programs catch.
"""

from __future__ import annotations

import functools
from collections import namedtuple
from typing import Any

import jax

from manyhands import config
from manyhands.devices import nvml
from manyhands.errors import DeviceError, DevicesStartedError, explain
from manyhands.tf.function import functions_run_eagerly, run_functions_eagerly
from manyhands.tf.missing import Names

PhysicalDevice = namedtuple("PhysicalDevice", ["name", "device_type"])
LogicalDevice = namedtuple("LogicalDevice", ["name", "device_type"])


class LogicalDeviceConfiguration:
    """One virtual device; a GPU's may have a memory limit in MiB."""

    def __init__(
        self,
        memory_limit: int | None = None,
        experimental_priority: Any = None,
        experimental_device_ordinal: Any = None,
    ) -> None:
        del experimental_priority, experimental_device_ordinal
        self.memory_limit = memory_limit


_visible: dict[str, list[PhysicalDevice]] = {}
_logical: dict[PhysicalDevice, list[LogicalDeviceConfiguration]] = {}


@functools.cache
def _physical() -> tuple[tuple[PhysicalDevice, int], ...]:
    """Every device and its memory, seen without starting JAX."""
    found = [(PhysicalDevice("/physical_device:CPU:0", "CPU"), 0)]
    if config.jax_may_use_gpus():
        gpus = nvml.read(config.visible_gpus()).gpus
        found += [
            (PhysicalDevice(f"/physical_device:GPU:{i}", "GPU"), gpu.memory_total_bytes or 0)
            for i, gpu in enumerate(gpus)
        ]
    return tuple(found)


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """List the machine's devices."""
    return [d for d, _ in _physical() if device_type in (None, d.device_type)]


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """List the devices that this program uses."""
    return [
        device
        for device in list_physical_devices(device_type)
        if device in _visible.get(device.device_type, [device])
    ]


def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """Use only these devices."""
    chosen = (
        list(devices)
        if isinstance(devices, list | tuple) and not isinstance(devices, PhysicalDevice)
        else [devices]
    )
    for device in chosen:
        _known(device)
    kinds = [device_type] if device_type else ["CPU", "GPU"]
    if config.has_started() and any(
        [d for d in chosen if d.device_type == kind] != get_visible_devices(kind) for kind in kinds
    ):
        raise _too_late("Visible devices")
    for kind in kinds:
        _visible[kind] = [device for device in chosen if device.device_type == kind]
    gpus = _visible.get("GPU")
    if gpus is None or not list_physical_devices("GPU"):
        return
    if gpus:
        numbers = ",".join(device.name.rsplit(":", 1)[1] for device in gpus)
        jax.config.update("jax_cuda_visible_devices", numbers)
    else:
        jax.config.update("jax_platforms", "cpu")


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """List the devices that programs compute on; this starts them."""
    found = []
    for platform, kind in (("cpu", "CPU"), ("gpu", "GPU"), ("tpu", "TPU")):
        if device_type not in (None, kind):
            continue
        try:
            count = len(jax.local_devices(backend=platform))
        except RuntimeError:
            continue
        found += [LogicalDevice(f"/device:{kind}:{i}", kind) for i in range(count)]
    return found


def set_logical_device_configuration(device: Any, logical_devices: Any) -> None:
    """Split the CPU into virtual devices, or limit what is taken of a GPU's memory."""
    _known(device)
    wanted = list(logical_devices or [])
    if device.device_type == "CPU":
        _logical[device] = wanted
        try:
            config.set_virtual_devices(max(1, len(wanted)))
        except DevicesStartedError as error:
            raise _too_late("Virtual devices") from error
        return
    if len(wanted) > 1:
        raise DeviceError(
            explain(
                "A GPU cannot be split into several devices here.",
                got=f"{len(wanted)} logical devices for {device.name}",
                fix="ask for one, with its memory_limit; to rehearse several devices, run with "
                "`manyhands run --devices N`, which makes virtual CPU devices.",
            )
        )
    if config.has_started():
        raise _too_late("Virtual devices")
    _logical[device] = wanted
    if wanted and wanted[0].memory_limit:
        total = dict(_physical())[device]
        config.set_memory_fraction(wanted[0].memory_limit * 2**20 / max(1, total))


def get_logical_device_configuration(device: Any) -> Any:
    """What was set for a device."""
    _known(device)
    return _logical.get(device)


def set_soft_device_placement(enabled: bool) -> None:
    """A device that is not there is always replaced by one that is."""
    del enabled


def get_soft_device_placement() -> bool:
    """A device that is not there is always replaced by one that is."""
    return True


def _known(device: Any) -> None:
    if device not in list_physical_devices():
        raise ValueError(f"Unrecognized device: {device!r}")


def _too_late(what: str) -> RuntimeError:
    return DevicesStartedError(
        explain(
            f"{what} cannot be modified after being initialized.",
            got="JAX has started its devices",
            fix="set them first thing in the program, before models and tensors are made.",
        )
    )


def _set_memory_growth(device: Any, enable: bool) -> None:
    """Take a GPU's memory as it is needed."""
    _known(device)
    if device.device_type == "CPU":
        raise ValueError("Cannot set memory growth on non-GPU and non-Pluggable devices")
    if config.has_started() and config.memory_growth() != bool(enable):
        raise _too_late("Physical devices")
    if not config.has_started():
        config.set_memory_growth(enable)


def _get_memory_growth(device: Any) -> bool:
    """Whether a GPU's memory is taken as it is needed."""
    _known(device)
    return config.memory_growth()


def _get_memory_info(device: str) -> dict[str, int]:
    """Bytes in use on a device, now and at most."""
    from manyhands.devices import resolve

    stats = resolve([device])[0].memory_stats()
    if stats is None:
        raise ValueError(f"{device} does not say how much memory it uses.")
    return {"current": stats.get("bytes_in_use", 0), "peak": stats.get("peak_bytes_in_use", 0)}


def _get_device_details(device: Any) -> dict[str, Any]:
    """What a GPU is."""
    _known(device)
    if device.device_type == "CPU":
        return {}
    gpu = nvml.read(config.visible_gpus()).gpus[int(device.name.rsplit(":", 1)[1])]
    capability = gpu.compute_capability
    return {
        "device_name": gpu.model,
        "compute_capability": tuple(map(int, capability.split("."))) if capability else None,
    }


def _accepted(*_: Any, **__: Any) -> None:
    """Taken, and not needed here."""


def _matmul_precision(enabled: bool) -> None:
    """Let GPUs compute float32 products in TensorFloat-32, or not."""
    jax.config.update("jax_default_matmul_precision", None if enabled else "highest")


def _uses_tensor_float_32() -> bool:
    """Whether GPUs may compute float32 products in TensorFloat-32."""
    chosen = jax.config.jax_default_matmul_precision  # pyright: ignore[reportAttributeAccessIssue]
    return chosen != "highest"


def _deterministic() -> None:
    """Let a program give the same numbers each time it runs on the same devices."""
    try:
        config.set_deterministic()
    except DevicesStartedError as error:
        raise _too_late("Determinism") from error


experimental = Names(
    "tf.config.experimental",
    set_memory_growth=_set_memory_growth,
    get_memory_growth=_get_memory_growth,
    get_memory_info=_get_memory_info,
    get_memory_usage=lambda device: _get_memory_info(device)["current"],
    get_device_details=_get_device_details,
    list_physical_devices=list_physical_devices,
    list_logical_devices=list_logical_devices,
    get_visible_devices=get_visible_devices,
    set_visible_devices=set_visible_devices,
    set_virtual_device_configuration=set_logical_device_configuration,
    get_virtual_device_configuration=get_logical_device_configuration,
    VirtualDeviceConfiguration=LogicalDeviceConfiguration,
    enable_tensor_float_32_execution=_matmul_precision,
    tensor_float_32_execution_enabled=_uses_tensor_float_32,
    enable_op_determinism=_deterministic,
    set_synchronous_execution=_accepted,
    enable_mlir_bridge=_accepted,
    disable_mlir_bridge=_accepted,
    run_functions_eagerly=run_functions_eagerly,
)
experimental_run_functions_eagerly = run_functions_eagerly
experimental_functions_run_eagerly = functions_run_eagerly
threading = Names(
    "tf.config.threading",
    set_inter_op_parallelism_threads=_accepted,
    set_intra_op_parallelism_threads=_accepted,
)
optimizer = Names("tf.config.optimizer", set_jit=_accepted, set_experimental_options=_accepted)
