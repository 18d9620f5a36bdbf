"""One row a device: what it is, what memory it has, how it is linked.

In: NVML's reading and JAX's devices.  Out: DeviceTable, a plain value for people and scripts.
Reads only.  NVML is read before JAX starts, so that JAX's own reservation does not show as used.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from manyhands import config
from manyhands.devices import nvml
from manyhands.devices.choose import JaxDevice, local_devices, name_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One device of this process; None where nobody tells."""

    name: str
    model: str
    memory_total_bytes: int | None = None
    memory_free_bytes: int | None = None
    utilisation_percent: int | None = None
    compute_capability: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """How two devices reach each other: NVLink, PCIe switch, host, same memory."""

    between: tuple[str, str]
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceTable:
    """Every device of this process, their links, and what could not be found out."""

    devices: tuple[Device, ...]
    links: tuple[Link, ...]
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The devices' names, in order."""
        return tuple(device.name for device in self.devices)

    def link(self, one: str, other: str) -> str | None:
        """How two devices are linked; None for a device and itself."""
        return next((link.kind for link in self.links if set(link.between) == {one, other}), None)

    def as_dict(self) -> dict[str, object]:
        """The same as plain lists and dicts, for JSON."""
        return asdict(self)


def table() -> DeviceTable:
    """Look at this process' devices: its GPUs where it has any, its CPU devices otherwise."""
    reading = nvml.read(config.visible_gpus())
    devices = local_devices()
    if devices[0].platform == "gpu":
        return _gpu_table(devices, reading)
    return _host_table(devices, reading)


def _gpu_table(devices: list[JaxDevice], reading: nvml.Reading) -> DeviceTable:
    rows = tuple(_gpu_row(device, _reading_of(device, reading)) for device in devices)
    known = {i: row.name for i, row in enumerate(rows)}
    links = tuple(
        Link(between=(known[i], known[j]), kind=kind)
        for i, j, kind in reading.links
        if i in known and j in known
    )
    return DeviceTable(
        devices=rows, links=links, notes=(reading.problem,) if reading.problem else ()
    )


def _reading_of(device: JaxDevice, reading: nvml.Reading) -> nvml.GpuReading | None:
    index = device.local_hardware_id
    return reading.gpus[index] if index is not None and index < len(reading.gpus) else None


def _gpu_row(device: JaxDevice, reading: nvml.GpuReading | None) -> Device:
    name = str(name_of(device))
    if reading is None:
        stats = device.memory_stats() or {}
        return Device(
            name=name, model=device.device_kind, memory_total_bytes=stats.get("bytes_limit")
        )
    return Device(
        name=name,
        model=reading.model,
        memory_total_bytes=reading.memory_total_bytes,
        memory_free_bytes=reading.memory_free_bytes,
        utilisation_percent=reading.utilisation_percent,
        compute_capability=reading.compute_capability,
    )


def _host_table(devices: list[JaxDevice], reading: nvml.Reading) -> DeviceTable:
    total, free = host_memory()
    rows = tuple(
        Device(
            name=str(name_of(device)),
            model=device.device_kind,
            memory_total_bytes=total,
            memory_free_bytes=free,
        )
        for device in devices
    )
    links = tuple(
        Link(between=(rows[i].name, rows[j].name), kind="same memory")
        for i in range(len(rows))
        for j in range(i + 1, len(rows))
    )
    return DeviceTable(devices=rows, links=links, notes=_why_no_gpu(devices, reading))


def _why_no_gpu(devices: list[JaxDevice], reading: nvml.Reading) -> tuple[str, ...]:
    if devices[0].platform != "cpu":
        return ()
    if reading.problem:
        return (f"No GPU: {reading.problem} Showing the CPU devices.",)
    if reading.gpus:
        models = ", ".join(gpu.model for gpu in reading.gpus)
        return (
            f"The driver sees {models}, but JAX does not: install manyhands[cuda13] "
            "(or [cuda12]) and check JAX_PLATFORMS. Showing the CPU devices.",
        )
    return ("No GPU is visible. Showing the CPU devices.",)


def host_memory() -> tuple[int | None, int | None]:
    """Total and free bytes of this machine's memory, from /proc; None where there is no /proc."""
    try:
        with open("/proc/meminfo") as lines:
            sizes = {name: int(rest.split()[0]) * 1024 for name, rest in _pairs(lines)}
    except OSError:
        return None, None
    return sizes.get("MemTotal"), sizes.get("MemAvailable")


def _pairs(lines):
    return (line.split(":", 1) for line in lines if ":" in line)
