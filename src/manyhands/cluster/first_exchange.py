"""The first computation with the others, before anything depends on it.

In: a Group whose processes have all joined JAX.  Out: connections between all of them that work.
Gloo, which carries XLA's sums between CPUs, takes whoever comes to its port and says a small
number for the process that it expects; then both sides wait for ever.  So strangers are looked
for, and Gloo is started anew at other ports where one has come first.  As of JAX 0.12.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from manyhands.cluster import jax_service
from manyhands.cluster.doors import sockets
from manyhands.cluster.group import Group
from manyhands.errors import ClusterError, explain, warn

_LOOK_S = 3.0
_MOST_STARTS = 5


@dataclass
class _Exchange:
    """One try, on a thread that may never come back."""

    error: str = ""
    done: threading.Event = field(default_factory=threading.Event)

    def begin(self) -> None:
        threading.Thread(target=self._run, name="manyhands-exchange", daemon=True).start()

    def _run(self) -> None:
        try:
            jax_service.exchange()
        except Exception as error:
            self.error = str(error).partition("\n")[0][:300] or type(error).__name__
        self.done.set()

    def told(self, waited_s: float) -> dict[str, Any]:
        """What the others need to know of it."""
        has_ended = self.done.wait(waited_s)
        now, doors = sockets(), jax_service.gloo_doors()
        return {
            "done": has_ended and not self.error,
            "error": self.error,
            "doors": sorted(doors),
            "visitors": now.visitors(doors),
            "ends": sorted(own for own, _ in now.ends),
        }


def exchange(group: Group, *, timeout_s: float) -> None:
    """See that every process can compute with every other, within so long."""
    if not jax_service.computes_on_cpus():
        return
    until = time.monotonic() + timeout_s
    told: list[dict[str, Any]] = []
    for _ in range(_MOST_STARTS):
        if told:
            _say_why(group, told)
            _start_anew(group)
        trial = _Exchange()
        trial.begin()
        told = _waited(group, trial, until)
        if all(one["done"] for one in told):
            return
        if _is_late(told):
            break
    raise _failed(group, told, timeout_s)


def _waited(group: Group, trial: _Exchange, until: float) -> list[dict[str, Any]]:
    """Wait while nothing is wrong; give what everybody has told last."""
    while True:
        is_over = time.monotonic() > until
        told = group.agree("the first exchange", trial.told(_LOOK_S) | {"late": is_over})
        if all(one["done"] for one in told) or _strangers(told) or _is_late(told):
            return told
        if any(one["error"] for one in told):
            return told


def _is_late(told: list[dict[str, Any]]) -> bool:
    return any(one["late"] for one in told)


def _strangers(told: list[dict[str, Any]]) -> dict[str, int]:
    """Who is connected to a process' door, and is no process of the group."""
    ours = {end for one in told for end in one["ends"]}
    return {
        visitor: index
        for index, one in enumerate(told)
        for visitor in one["visitors"]
        if visitor not in ours
    }


def _start_anew(group: Group) -> None:
    if group.index == 0:
        jax_service.forget_meeting()
    group.agree("another exchange", 0)
    jax_service.stop_devices()


def _say_why(group: Group, told: list[dict[str, Any]]) -> None:
    if group.index == 0:
        warn(
            "The processes could not exchange data; they try again at other ports. "
            f"{_seen(group, told)}. Keep port scanners and the like from the machines that train."
        )


def _seen(group: Group, told: list[dict[str, Any]]) -> str:
    members, strangers = group.membership.members, _strangers(told)
    parts = [f"{at} came to {members[i]} at {_doors(told[i])}" for at, i in strangers.items()]
    parts += [f"{members[i]}: {one['error']}" for i, one in enumerate(told) if one["error"]]
    parts += [
        f"{members[i]} waits for the others at {_doors(one)}"
        for i, one in enumerate(told)
        if not one["done"] and not one["error"] and not strangers
    ]
    return "; ".join(parts[:4])


def _doors(one: dict[str, Any]) -> str:
    return ", ".join(one["doors"][-1:]) or "a port that is not known"


def _failed(group: Group, told: list[dict[str, Any]], timeout_s: float) -> ClusterError:
    return ClusterError(
        explain(
            f"The processes could not exchange data within {timeout_s:.0f} s."
            if _is_late(told)
            else f"The processes could not exchange data, in {_MOST_STARTS} tries.",
            got=_seen(group, told),
            fix="see that the processes reach each other at every port, and keep port scanners and "
            "the like from them; MANYHANDS_TIMEOUT allows more seconds.",
        )
    )
