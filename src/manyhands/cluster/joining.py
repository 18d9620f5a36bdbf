"""Join the group that this process belongs to: a roll call first, then JAX.

In: a Membership.  Out: a Group, with JAX seeing every process' devices.
Whoever does not arrive is named, with its address; nobody waits longer than the timeout.
"""

from __future__ import annotations

import atexit
import os
import socket
import sys
import time

from manyhands import config
from manyhands.cluster.group import LOST_EXIT, Group
from manyhands.cluster.hub import Hub
from manyhands.cluster.listening import free_port, listen, warn_if_exposed
from manyhands.cluster.membership import Membership
from manyhands.cluster.spec import split_address
from manyhands.cluster.wire import Line, LineClosedError, Message
from manyhands.errors import ClusterError, DevicesStartedError, explain

_RETRY_S = 0.1
_LINGER_S = 600.0
_HEAR_S = 1.0
"""A computation may fail a moment before we hear why."""

_joined: Group | None = None


def joined() -> Group | None:
    """The group of this process, once it has joined one."""
    return _joined


def join(membership: Membership, *, tls: object = None) -> Group | None:
    """Meet the others and connect JAX; None for a process that is alone. Once a process."""
    global _joined
    if membership.is_evaluator or membership.size == 1:
        return None
    if _joined is not None:
        return _rejoined(_joined, membership)
    if config.has_started():
        raise DevicesStartedError(
            explain(
                "JAX has started its devices before this process joined its group.",
                got=f"{membership.me}, one of {membership.size} processes",
                fix="make the MultiWorkerMirroredStrategy first thing in the program: before "
                "tensors, models, tf.config.list_logical_devices or jax.devices().",
            )
        )
    _joined = _join(membership, tls)
    return _joined


def _rejoined(group: Group, membership: Membership) -> Group:
    if group.membership.members != membership.members:
        raise ClusterError(
            explain(
                "This process belongs to another group already.",
                got=f"{membership.size} processes now, {group.size} before",
                fix="use one cluster for the whole program.",
            )
        )
    return group


def _join(membership: Membership, tls: object) -> Group:
    from manyhands.cluster import jax_service

    settings = config.settings()
    timeout_s = settings.timeout_s
    hub, server = None, None
    if membership.index == 0:
        hub = _open_hub(membership, settings, tls)
    line, welcome = _arrive(membership, hub, timeout_s, settings.token)
    group = Group(membership, line, timeout_s=timeout_s, silence_s=settings.heartbeat_s)
    atexit.register(_leave, group, hub)
    host, _ = split_address(membership.coordinator)
    jax_service.join(
        f"{_bracketed(host)}:{welcome['jax_port']}",
        membership.index,
        membership.size,
        own_host=line.own_host,
        timeout_s=timeout_s,
        tls=tls,  # pyright: ignore[reportArgumentType]
    )
    del server
    return group


def _open_hub(membership: Membership, settings: config.Settings, tls: object) -> Hub:
    from manyhands.cluster import jax_service

    server = listen(membership.coordinator)
    host = server.getsockname()[0]
    warn_if_exposed(host, secret=bool(settings.token) and tls is not None)

    def begin() -> Message:
        port = free_port(host)
        jax_service.serve(f"{_bracketed(host)}:{port}", membership.size, tls)  # pyright: ignore[reportArgumentType]
        return {"jax_port": port}

    return Hub(
        server,
        membership.members,
        token=settings.token,
        welcome=begin,
        silence_s=settings.heartbeat_s,
        limit_s=settings.timeout_s,
    )


def _arrive(
    membership: Membership, hub: Hub | None, timeout_s: float, token: str
) -> tuple[Line, Message]:
    until = time.monotonic() + timeout_s
    line = _reach(membership, until, timeout_s)
    try:
        return line, _welcomed(membership, hub, line, until, timeout_s, token)
    except BaseException:
        line.close()
        raise


def _welcomed(
    membership: Membership, hub: Hub | None, line: Line, until: float, timeout_s: float, token: str
) -> Message:
    hello = {"index": membership.index, "size": membership.size, "token": token}
    try:
        line.send({"kind": "hello", **hello})
        # the others are told by process 0, which knows who is missing
        wait_s = max(0.1, until - time.monotonic()) + (0.0 if hub else 5.0)
        answer = line.receive(wait_s)
    except TimeoutError:
        raise _nobody(membership, hub, timeout_s) from None
    except LineClosedError as error:
        raise _unreached(membership, timeout_s, str(error)) from None
    if answer.get("kind") != "welcome":
        raise ClusterError(
            explain(
                "This process cannot join its group.",
                got=f"{membership.me}; {answer.get('reason', 'refused')}",
                fix="start every process with the same cluster, each with its own task.",
            )
        )
    return answer


def _reach(membership: Membership, until: float, timeout_s: float) -> Line:
    host, port = split_address(membership.coordinator)
    last = "nothing listens there"
    while time.monotonic() < until:
        try:
            connection = socket.create_connection((host, port), timeout=5)
        except OSError as error:
            last = error.strerror or str(error)
            time.sleep(_RETRY_S)
        else:
            connection.settimeout(None)
            return Line(connection)
    raise _unreached(membership, timeout_s, last)


def _nobody(membership: Membership, hub: Hub | None, timeout_s: float) -> ClusterError:
    missing = [] if hub is None else [str(membership.members[i]) for i in hub.missing()]
    names = ", ".join(missing) or "process 0 did not say"
    error = ClusterError(
        explain(
            f"Not every process arrived within {timeout_s:.0f} s.",
            got=f"missing: {names}",
            fix="start the missing ones, and look at their own messages; MANYHANDS_TIMEOUT allows "
            "more seconds.",
        )
    )
    if hub is not None:
        hub.give_up(f"not every process arrived within {timeout_s:.0f} s; missing: {names}")
    return error


def _unreached(membership: Membership, timeout_s: float, reason: str) -> ClusterError:
    return ClusterError(
        explain(
            f"Process 0 could not be reached within {timeout_s:.0f} s.",
            got=f"{membership.members[0]} at {membership.coordinator}: {reason}",
            fix="start it, and see that this machine reaches its address and port; "
            "MANYHANDS_TIMEOUT allows more seconds.",
        )
    )


def _leave(group: Group, hub: Hub | None) -> None:
    ended_by = getattr(sys, "last_value", None)
    if ended_by is not None and group.hears_of_a_loss(_HEAR_S):
        sys.stdout.flush()
        os._exit(LOST_EXIT)  # it ended because of another, and says so
    group.leave(f"{type(ended_by).__name__}: {ended_by}"[:500] if ended_by is not None else "")
    if hub is not None and ended_by is None:
        hub.wait_for_byes(_LINGER_S)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
