"""Run a step of a custom loop on a strategy's devices.

In: a Python step and its arguments.  Out: its results.
The step sees the whole batch, so it means what it means on one device; it is compiled when
first called, together with the state that it touches.  A step that asks which replica it is runs
once for each.
"""

from __future__ import annotations

import warnings
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax

from manyhands.engine.function import Function
from manyhands.engine.jax_inside import is_eager
from manyhands.engine.step_scope import current_step
from manyhands.errors import ManyhandsWarning, StepError, explain
from manyhands.strategies.context import AsksForReplicaError, in_step
from manyhands.strategies.fingerprint import fingerprint
from manyhands.strategies.replica_context import PerReplicaValue, run_per_replica

if TYPE_CHECKING:
    from manyhands.strategies.strategy import Strategy

_MOST_FUNCTIONS = 256
_MOST_ALIKE = 12
"""A step that closes over new things each time is compiled so often, then runs eagerly."""


class Runner:
    """The steps of one strategy, each compiled when it is first run."""

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy
        self._functions: OrderedDict[Any, Function] = OrderedDict()
        self._alike: Counter[Any] = Counter()

    def run(self, step: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        """Run a step, or make it part of the one that is being traced around it."""
        around = current_step()
        if around is not None or not is_eager():
            if around is not None:
                around.placement = around.placement or self._strategy.placement
            return self._inside(step, args, kwargs)
        return self._function(step)(*args, **kwargs)

    def _function(self, step: Callable[..., Any]) -> Function:
        key = fingerprint(step)
        found = self._functions.get(key)
        if found is None:
            found = Function(
                _named(lambda *args, **kwargs: self._inside(step, args, kwargs), step),
                self._strategy.placement,
                splits=True,
            )
            found.runs_eagerly = self._changes_each_time(step, key)
            self._functions[key] = found
            if len(self._functions) > _MOST_FUNCTIONS:
                self._functions.popitem(last=False)
        self._functions.move_to_end(key)
        return found

    def _changes_each_time(self, step: Any, key: Any) -> bool:
        self._alike[key[0]] += 1
        if len(key) > 1 and self._alike[key[0]] == _MOST_ALIKE:
            warnings.warn(
                f"{getattr(step, '__name__', step)} closes over other objects each time it is run, "
                "so it would be compiled each time; it runs eagerly from now on. Pass what changes "
                "as arguments: strategy.run(step, args=(...)).",
                ManyhandsWarning,
                stacklevel=5,
            )
        return len(key) > 1 and self._alike[key[0]] >= _MOST_ALIKE

    def _inside(self, step: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        scope = current_step()
        before = None if scope is None else scope.saved()
        if not _has_scalars_per_replica((args, kwargs)):
            try:
                with in_step(self._strategy, None):
                    return step(*_merged(args), **_merged(kwargs))
            except AsksForReplicaError:
                if scope is None or before is None:
                    raise _needs_a_trace(step) from None
                scope.restore(before)
        if scope is None:
            raise _needs_a_trace(step)
        return run_per_replica(self._strategy, step, args, kwargs)


def _named(function: Any, like: Any) -> Any:
    function.__name__ = getattr(like, "__name__", type(like).__name__)
    return function


def _is_per_replica(value: Any) -> bool:
    return isinstance(value, PerReplicaValue)


def _has_scalars_per_replica(given: Any) -> bool:
    parts = jax.tree.leaves(given, is_leaf=_is_per_replica)
    return any(_is_per_replica(part) and part.stacked.ndim == 1 for part in parts)


def _merged(given: Any) -> Any:
    """Lay the replicas' rows end to end."""
    return jax.tree.map(
        lambda part: (
            part.stacked.reshape(-1, *part.stacked.shape[2:]) if _is_per_replica(part) else part
        ),
        given,
        is_leaf=_is_per_replica,
    )


def _needs_a_trace(step: Any) -> StepError:
    return StepError(
        explain(
            "A step that asks for its replica must be compiled, and this one needs values.",
            got=f"{getattr(step, '__name__', step)!r}, which calls get_replica_context",
            fix="leave .numpy(), print and Python branches on tensors out of the step.",
        )
    )
