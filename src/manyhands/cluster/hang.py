"""Who holds up the others, and what everybody is doing.

In: what each process said last of itself.  Out: who has not come where others wait; a report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from manyhands.cluster.membership import Member
from manyhands.cluster.wire import Message


def held_up_by(said: Mapping[int, Message], limit_s: float, gone: Sequence[int] = ()) -> list[int]:
    """Find who is elsewhere, or gone, while somebody has waited for longer than `limit_s`.

    Everybody, where all have waited so long in different places.
    """
    waited = [message.get("waiting_s", 0.0) for message in said.values()]
    if max(waited, default=0.0) < limit_s:
        return []
    if min(waited) >= limit_s and len({message.get("doing") for message in said.values()}) > 1:
        return list(said)
    elsewhere = [index for index, message in said.items() if not message.get("waiting_s")]
    return [*elsewhere, *gone]


def report(
    members: Sequence[Member], said: Mapping[int, Message], stacks: Mapping[int, str]
) -> str:
    """Lay out what each process was doing, and where in its program it was."""
    parts = ["manyhands: the group is stuck; this is what each process was doing."]
    for index, member in enumerate(members):
        where = said.get(index, {})
        doing = where.get("doing", "nothing that it told")
        parts.append(f"  {member}: {doing}, step {where.get('step', '?')}")
        stack = stacks.get(index)
        told = stack if stack is not None else "it did not answer: it is stopped, or cut off"
        parts.append("\n".join(f"    {line}" for line in told.rstrip().splitlines()))
    return "\n".join(parts) + "\n"
