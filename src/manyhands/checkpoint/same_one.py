"""All processes of a group go on from the same checkpoint, also where one of its copies is damaged.

In: what this process has restored, and what it passed by.  Out: what the first process restored.
Matters where each machine has a disk of its own.  Nobody waits: the first to come decides.
"""

from __future__ import annotations

import os
from collections import Counter

from manyhands.checkpoint.errors import CheckpointDamagedError
from manyhands.cluster import joined
from manyhands.errors import explain, warn

_restores: Counter[str] = Counter()


def as_the_first(directory: str, chosen: str, damaged: dict[str, str]) -> str:
    """Give the path to go on from: the own choice, unless it is damaged where the first looked."""
    group = joined()
    if group is None:
        return chosen
    _restores[directory] += 1
    said = group.first_word(
        f"restore {_restores[directory]} of {directory}",
        {"from": os.path.basename(chosen), "damaged": [os.path.basename(path) for path in damaged]},
    )
    if said is None:
        return chosen
    firsts = os.path.join(directory, said["from"])
    if firsts in damaged:
        raise _damaged_only_here(firsts, damaged[firsts])
    if os.path.basename(chosen) not in said["damaged"]:
        return chosen
    warn(
        f"The checkpoint {chosen} was passed by, for its copy in another process is damaged: "
        f"{firsts}, which is older, is taken instead in all. Look at the disk that damaged it."
    )
    return firsts


def _damaged_only_here(path: str, damage: str) -> CheckpointDamagedError:
    error = CheckpointDamagedError(
        explain(
            "The other processes go on from a checkpoint that is damaged here.",
            got=f"{path}: {damage}",
            fix="copy it from another machine, or remove it from all of them to go back to the one "
            "before.",
        )
    )
    error.damage = damage
    return error
