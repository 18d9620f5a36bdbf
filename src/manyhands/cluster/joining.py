"""Join the group that this process belongs to: a roll call first, then JAX.

In: a Membership.  Out: a Group, with JAX seeing every process' devices.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import re
import sys

from manyhands import config
from manyhands.cluster.arriving import arrive
from manyhands.cluster.exits import LOST_EXIT
from manyhands.cluster.group import Group
from manyhands.cluster.hub import Hub
from manyhands.cluster.listening import free_port, listen, warn_if_exposed
from manyhands.cluster.membership import Membership
from manyhands.cluster.spec import split_address
from manyhands.cluster.tls import Tls
from manyhands.errors import ClusterError, DevicesStartedError, explain, warn

_HEAR_S = 1.0
"""A computation may fail a moment before we hear why."""

_COMMON = re.compile("gloo|nccl|all-reduce|all-gather|coordination", re.IGNORECASE)
"""What XLA speaks of when a computation of several processes fails."""

_joined: Group | None = None
_wanted: Membership | None = None


def joined() -> Group | None:
    """The group of this process, once it has joined one."""
    return _joined


def join(membership: Membership, *, tls: Tls | None = None) -> Group | None:
    """Meet the others and connect JAX; None for a process that is alone. Once a process."""
    global _joined, _wanted
    if membership.is_evaluator or membership.size == 1:
        return None
    if _wanted is not None:
        _refuse_another(_wanted, membership)
        return _joined
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
    _wanted = membership
    return _joined


def _refuse_another(wanted: Membership, membership: Membership) -> None:
    if wanted.members != membership.members:
        raise ClusterError(
            explain(
                "This process belongs to another group already.",
                got=f"{membership.size} processes now, {wanted.size} before",
                fix="use one cluster for the whole program.",
            )
        )


def _join(membership: Membership, tls: Tls | None) -> Group:
    from manyhands.cluster import jax_service
    from manyhands.cluster.first_exchange import exchange

    jax_service.check(tls)
    settings = config.settings()
    timeout_s = settings.timeout_s
    hub = _open_hub(membership, settings, tls) if membership.index == 0 else None
    arrival = arrive(membership, hub, timeout_s=timeout_s, token=settings.token)
    there, line = arrival.membership, arrival.line
    if there.size < membership.size:
        warn(f"Training begins with {there.size} of {membership.size} processes.")
    group = Group(there, line, timeout_s=timeout_s, silence_s=settings.heartbeat_s)
    atexit.register(_leave, group, hub)
    host, _ = split_address(membership.coordinator)
    jax_service.join(
        f"{_bracketed(host)}:{arrival.jax_port}",
        there.index,
        there.size,
        own_host=line.own_host,
        timeout_s=timeout_s,
        tls=tls,
    )
    exchange(group, timeout_s=timeout_s)
    return group


def _open_hub(membership: Membership, settings: config.Settings, tls: Tls | None) -> Hub:
    from manyhands.cluster import jax_service

    server = listen(membership.coordinator)
    host = server.getsockname()[0]
    warn_if_exposed(host, secret=bool(settings.token) and tls is not None)

    def start_jax(num_processes: int) -> int:
        port = free_port(host)
        jax_service.serve(f"{_bracketed(host)}:{port}", num_processes, tls)
        return port

    return Hub(
        server,
        membership.members,
        token=settings.token,
        start_jax=start_jax,
        least=settings.min_processes,
        silence_s=settings.heartbeat_s,
        limit_s=settings.timeout_s,
    )


def _leave(group: Group, hub: Hub | None) -> None:
    ended_by = getattr(sys, "last_value", None)
    if ended_by is not None and group.hears_of_a_loss(_HEAR_S):
        sys.stdout.flush()
        os._exit(LOST_EXIT)  # it ended because of another, and says so
    if ended_by is not None:
        gone = group.gone()
        if gone and _COMMON.search(str(ended_by)):
            _say(
                f"{gone} has ended its program, while others compute with it.\n  fix: run the same "
                "steps on every process; who stops training early must stop it everywhere."
            )
            group.leave(f"a computation that {gone} had left")
            _end_now(hub, LOST_EXIT)
        interrupted = isinstance(ended_by, KeyboardInterrupt)
        group.leave(f"{type(ended_by).__name__}: {ended_by}"[:500].removesuffix(": "))
        _end_now(hub, 130 if interrupted else 1)
    group.leave()
    reason = "" if hub is None else hub.wait_for_byes(_say)
    if reason:
        _say(reason)
        _end_now(None, LOST_EXIT if hub is not None and hub.has_lost else 1)


def _end_now(hub: Hub | None, code: int) -> None:
    """End without waiting for threads: JAX aborts who outlives its coordinator."""
    if hub is not None:
        hub.wait_for_the_end(_HEAR_S)
    logging.shutdown()
    sys.stdout.flush()
    os._exit(code)


def _say(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"manyhands: {text}\n")
        sys.stderr.flush()


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
