"""The roll call: every process comes to process 0, which says who is there.

In: a Membership; at process 0 also its Hub.  Out: a Line to the hub, the welcome that it gave, and
the Membership as it turned out: smaller, where some never came and the rest is enough.
Whoever does not arrive is named, with its address; nobody waits longer than the timeout.
"""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass

from manyhands.cluster.hub import Hub
from manyhands.cluster.membership import Membership
from manyhands.cluster.spec import split_address
from manyhands.cluster.wire import Line, LineClosedError, Message
from manyhands.errors import ClusterError, explain

_RETRY_S = 0.1
_HUB_S = 5.0
"""So much longer the others wait: process 0 knows who is missing, and tells them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """What a process has when all have come."""

    line: Line
    membership: Membership
    jax_port: int


def arrive(membership: Membership, hub: Hub | None, *, timeout_s: float, token: str) -> Arrival:
    """Come to process 0 and wait for the others."""
    until = time.monotonic() + timeout_s
    reason = "nothing listens there"
    while time.monotonic() < until:
        try:
            line = _reach(membership)
        except OSError as error:
            reason = error.strerror or str(error)
            time.sleep(_RETRY_S)
            continue
        try:
            welcome = _welcomed(membership, hub, line, timeout_s=timeout_s, token=token)
        except LineClosedError as error:  # that was a group about to end; the next one comes
            line.close()
            reason = str(error)
            time.sleep(_RETRY_S)
        except BaseException:
            line.close()
            raise
        else:
            there = membership.only(welcome["present"])
            return Arrival(line=line, membership=there, jax_port=welcome["jax_port"])
    raise _unreached(membership, timeout_s, reason)


def _reach(membership: Membership) -> Line:
    host, port = split_address(membership.coordinator)
    connection = socket.create_connection((host, port), timeout=5)
    connection.settimeout(None)
    return Line(connection)


def _welcomed(
    membership: Membership, hub: Hub | None, line: Line, *, timeout_s: float, token: str
) -> Message:
    hello = {"index": membership.index, "size": membership.size, "token": token}
    line.send({"kind": "hello", **hello})
    try:
        answer = line.receive(timeout_s if hub else timeout_s + _HUB_S)
    except TimeoutError:
        if hub is None or not hub.begin_with_fewer():
            raise _missing(membership, hub, timeout_s) from None
        answer = line.receive(_HUB_S)
    if answer.get("kind") != "welcome":
        raise ClusterError(
            explain(
                "This process cannot join its group.",
                got=f"{membership.me}; {answer.get('reason', 'refused')}",
                fix="start every process with the same cluster, each with its own task.",
            )
        )
    return answer


def _missing(membership: Membership, hub: Hub | None, timeout_s: float) -> ClusterError:
    missing = [] if hub is None else [str(membership.members[i]) for i in hub.missing()]
    names = ", ".join(missing) or "process 0 did not say"
    if hub is not None and hub.refusals:
        names += f"; refused: {hub.refusals[-1]}"
    if hub is not None:
        hub.give_up(f"not every process arrived within {timeout_s:.0f} s; missing: {names}")
    return ClusterError(
        explain(
            f"Not every process arrived within {timeout_s:.0f} s.",
            got=f"missing: {names}",
            fix="start the missing ones, and look at their own messages; MANYHANDS_TIMEOUT allows "
            "more seconds, MANYHANDS_MIN_PROCESSES fewer processes.",
        )
    )


def _unreached(membership: Membership, timeout_s: float, reason: str) -> ClusterError:
    return ClusterError(
        explain(
            f"Process 0 could not be reached within {timeout_s:.0f} s.",
            got=f"{membership.members[0]} at {membership.coordinator}: {reason}",
            fix="start it, and see that this machine reaches its address and port; "
            "MANYHANDS_TIMEOUT allows more seconds.",
        )
    )
