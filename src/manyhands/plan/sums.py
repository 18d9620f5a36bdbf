"""When sums over devices are better joined before XLA sees them.

In: where a step runs and how much state it has.  Out: yes or no.
"""

from __future__ import annotations

_SHORT_STEP_BYTES = 2**26
"""State of a step so short that meeting for each gradient by itself would be felt."""


def joins_sums(*, num_devices: int, platform: str, state_bytes: int) -> bool:
    """Choose whether a step's sums over the rows travel as one array.

    XLA does so by itself for GPUs.  On CPUs the devices meet once for each array, 0.1 ms in one
    process and 0.3 between two; a model of more state computes for so long that this is nothing
    beside it, and would only compile longer.
    """
    return num_devices > 1 and platform == "cpu" and state_bytes <= _SHORT_STEP_BYTES
