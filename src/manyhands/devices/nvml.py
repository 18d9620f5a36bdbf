"""Ask NVIDIA's driver about its GPUs (through NVML).

In: nothing, or CUDA_VISIBLE_DEVICES' entries.  Out: GpuReading and pair links, in visible order.
Reads only, never changes a setting; a machine without a driver gives a reason instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pynvml


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuReading:
    """One GPU as the driver sees it now; None where it does not tell."""

    model: str
    memory_total_bytes: int | None
    memory_free_bytes: int | None
    utilisation_percent: int | None
    compute_capability: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Every visible GPU, how each pair is linked, and why nothing could be read if so."""

    gpus: tuple[GpuReading, ...] = ()
    links: tuple[tuple[int, int, str], ...] = ()
    problem: str | None = None


def read(visible: Sequence[str] | None = None) -> Reading:
    """Read every visible GPU, or say why that cannot be done."""
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return Reading(problem=f"NVML is not available ({error}).")
    try:
        handles = _handles(visible)
        return Reading(
            gpus=tuple(_gpu(handle) for handle in handles),
            links=tuple(
                (i, j, _link(handles[i], handles[j]))
                for i in range(len(handles))
                for j in range(i + 1, len(handles))
            ),
        )
    except pynvml.NVMLError as error:
        return Reading(problem=f"NVML could not be read ({error}).")
    finally:
        pynvml.nvmlShutdown()


def _handles(visible: Sequence[str] | None) -> list[object]:
    if visible is None:
        count = pynvml.nvmlDeviceGetCount()
        return [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(count)]
    handles = []
    for entry in visible:
        try:
            handles.append(_handle(entry))
        except pynvml.NVMLError:  # CUDA ignores an unknown entry and all that follow it
            break
    return handles


def _handle(entry: str) -> object:
    if entry.isdigit():
        return pynvml.nvmlDeviceGetHandleByIndex(int(entry))
    return pynvml.nvmlDeviceGetHandleByUUID(entry)


def _gpu(handle: object) -> GpuReading:
    memory = _told(pynvml.nvmlDeviceGetMemoryInfo, handle)
    rates = _told(pynvml.nvmlDeviceGetUtilizationRates, handle)
    capability = _told(pynvml.nvmlDeviceGetCudaComputeCapability, handle)
    return GpuReading(
        model=str(pynvml.nvmlDeviceGetName(handle)),
        memory_total_bytes=int(memory.total) if memory else None,
        memory_free_bytes=int(memory.free) if memory else None,
        utilisation_percent=int(rates.gpu) if rates else None,
        compute_capability="{}.{}".format(*capability) if capability else None,
    )


def _told(question, *of):
    """Ask one thing; some cards, and slices of cards, do not answer every question."""
    try:
        return question(*of)
    except pynvml.NVMLError:
        return None


def _link(one: object, other: object) -> str:
    nvlink = _told(pynvml.nvmlDeviceGetP2PStatus, one, other, pynvml.NVML_P2P_CAPS_INDEX_NVLINK)
    if nvlink == pynvml.NVML_P2P_STATUS_OK:
        return "NVLink"
    level = _told(pynvml.nvmlDeviceGetTopologyCommonAncestor, one, other)
    if level is None:
        return "unknown"
    if level == pynvml.NVML_TOPOLOGY_INTERNAL:
        return "same board"
    if level <= pynvml.NVML_TOPOLOGY_MULTIPLE:
        return "PCIe switch"
    return "host"
