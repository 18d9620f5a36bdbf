"""Run a step of a custom loop on a strategy's devices.

In: a Python step and its arguments.  Out: its results.
The step sees the whole batch, so it means what it means on one device; it is compiled when
first called, together with the state that it touches.  A step that asks which replica it is runs
once for each.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import jax

from manyhands.engine.fingerprint import fingerprint
from manyhands.engine.jax_inside import is_eager
from manyhands.engine.launches import launching
from manyhands.engine.python_reads import PythonReads
from manyhands.errors import StepError, explain, warn
from manyhands.keras_bridge.function import Function, is_inside_a_function
from manyhands.keras_bridge.step_scope import current_step
from manyhands.strategies.context import AsksForReplicaError, in_step
from manyhands.strategies.per_replica import PerReplicaValue
from manyhands.strategies.replica_context import ReplicaContext
from manyhands.strategies.replicas import is_of_replicas
from manyhands.strategies.vectorised import run_per_replica

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
        self._num_runs: Counter[Any] = Counter()
        self._said: set[Any] = set()

    def run(self, step: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        """Run a step, or make it part of the one that is being traced around it."""
        around = current_step()
        if around is not None or not is_eager():
            if around is not None:
                around.engine = around.engine or self._strategy.engine
            return self._inside(step, args, kwargs)
        with launching:
            function = self._function(step)
        turns = nullcontext() if self._strategy.layout.spans_processes else function.touched.taken()
        with turns, launching:  # threads share the devices, and the variables
            return function(*args, **kwargs)

    def _function(self, step: Callable[..., Any]) -> Function:
        is_frozen = is_inside_a_function()
        key = (*fingerprint(step), is_frozen)
        self._num_runs[key[0]] += 1
        found = self._functions.get(key)
        if found is None:
            found = self._functions[key] = Function(
                _named(lambda *args, **kwargs: self._inside(step, args, kwargs), step),
                self._strategy.engine,
                splits=True,
                follows=(step,),
                is_frozen=is_frozen,
                on_read=lambda reads: self._doubt(step, reads),
            )
            found.runs_eagerly = self._is_new_each_time(step, key[0])
            if len(self._functions) > _MOST_FUNCTIONS:
                self._functions.popitem(last=False)
        self._functions.move_to_end(key)
        return found

    def _is_new_each_time(self, step: Any, code: Any) -> bool:
        self._alike[code] += 1
        if self._alike[code] < _MOST_ALIKE or self._num_runs[code] > 8 * self._alike[code]:
            return False
        if code not in self._said:
            self._said.add(code)
            warn(
                f"{getattr(step, '__name__', step)} closes over other Python objects each time it "
                "is run, so it would be compiled each time; it runs eagerly from now on. Pass what "
                "changes as arguments: strategy.run(step, args=(...)), or keep it in a Variable."
            )
        return True

    def _doubt(self, step: Any, reads: PythonReads) -> None:
        """Say so when a step uses the number of replicas that was read outside of it."""
        read = any(is_of_replicas(value) and value != 1 for value in reads.plain_values())
        if not read or self._strategy.layout.num_replicas == 1:
            return
        warn(
            f"{getattr(step, '__name__', step)} uses strategy.num_replicas_in_sync as it was read "
            f"outside of it ({self._strategy.layout.num_replicas}). A step sees the whole batch, "
            "so there it is 1: a loss divided by it would be too small. Read "
            "strategy.num_replicas_in_sync inside the step, or divide by the global batch size."
        )

    def _inside(self, step: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        scope = current_step()
        before = None if scope is None else scope.saved()
        if not _is_per_replica_anywhere((args, kwargs)):
            try:
                with in_step(self._strategy, None):
                    return step(*args, **kwargs)
            except AsksForReplicaError:
                if scope is not None:
                    scope.restore(before)
        if scope is None:
            if self._strategy.layout.num_replicas > 1:
                raise _needs_a_trace(step)
            with in_step(self._strategy, ReplicaContext(self._strategy, 0)):
                return step(*args, **kwargs)
        return run_per_replica(self._strategy, step, args, kwargs)


def _named(function: Any, like: Any) -> Any:
    function.__name__ = getattr(like, "__name__", type(like).__name__)
    return function


def _is_per_replica(value: Any) -> bool:
    return isinstance(value, PerReplicaValue)


def _is_per_replica_anywhere(given: Any) -> bool:
    return any(_is_per_replica(part) for part in jax.tree.leaves(given, is_leaf=_is_per_replica))


def _needs_a_trace(step: Any) -> StepError:
    return StepError(
        explain(
            "A step that asks for its replica must be compiled, and this one needs values.",
            got=f"{getattr(step, '__name__', step)!r}, which calls get_replica_context",
            fix="leave .numpy(), print and Python branches on tensors out of the step.",
        )
    )
