"""A Python step, traced once for arguments of one kind into a pure function of its state.

In: a function and its arguments.  Out: a TracedStep: a Step, and the variables it touches.
The function's Python runs once; again only if it made variables, or used ones nobody knew of.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import jax
import keras
import numpy as np
from jax.extend.core import jaxpr_as_fun

from manyhands.data.dataset.randomness import NotTraceable
from manyhands.engine.dict_order import in_order, order_of
from manyhands.engine.jax_inside import is_tracer
from manyhands.engine.leaf import Leaf
from manyhands.engine.step import State
from manyhands.keras_bridge.leaves import leaves_of
from manyhands.keras_bridge.step_scope import StepScope
from manyhands.keras_bridge.variables import (
    list_variable,
    live_variables,
    value_of,
)

_MOST_TRACES = 4


@dataclass(frozen=True)
class TracedStep:
    """What a step does to arguments of one kind."""

    written: list[Any]
    read: list[Any]
    leaves: tuple[Leaf, ...]
    engine: Any
    """What a strategy's `run` inside the step wants it to run on."""
    _jaxpr: Any
    _result: Any
    _slots: list[int]
    _num_known: int
    _order: Any

    name = "step"

    @property
    def variables(self) -> list[Any]:
        """The variables of the state, in the order of its leaves."""
        return [*self.written, *self.read]

    @property
    def jaxpr(self) -> Any:
        """The operations of the step."""
        return self._jaxpr

    def __call__(self, state: State, rows: list[Any]) -> tuple[Any, State]:
        """Run the step on the values of its variables, and rows."""
        known: list[Any] = [0] * self._num_known  # what the step never touches is never looked at
        for slot, value in zip(self._slots, state, strict=True):
            known[slot] = value
        given = jaxpr_as_fun(self._jaxpr)(*known, *rows)
        count = len(given) - len(self.written)
        return list(given[:count]), [*given[count:], *state[len(self.written) :]]

    def rebuilt(self, values: list[Any]) -> Any:
        """Give the result of the step, made of the values that it gave."""
        return in_order(self._order, self._result(values))


def trace_step(
    call: Callable[[list[Any]], Any],
    arrays: list[Any],
    *,
    shows_values: bool = False,
    before_again: Callable[[], None] = lambda: None,
) -> TracedStep | None:
    """Trace `call`, which takes the step's arrays, and find the state it touches.

    None for a step that makes new variables each time; `before_again` is called before each
    trace but the first.
    """
    for _ in range(_MOST_TRACES):
        traced = _trace_once(call, arrays, live_variables(), shows_values)
        if traced is not None:
            return traced
        before_again()
    return None


def _trace_once(
    call: Any, arrays: list[Any], known: list[Any], shows_values: bool
) -> TracedStep | None:
    known = [variable for variable in known if value_of(variable) is not None]
    scope: StepScope | None = None
    results: list[Any] = []
    orders: list[Any] = []

    def step(state: list[Any], arrays: list[Any]) -> Any:
        nonlocal scope
        values = {id(v): value for v, value in zip(known, state, strict=True)}
        scope = StepScope(values)
        scope.shows_values = shows_values
        with scope, jax.ensure_compile_time_eval():  # what is known is a value, not a tracer
            written = call(arrays)
            given = jax.tree.map(as_value, written)
        leaves, structure = jax.tree.flatten(given)
        wanted = [_is_value(leaf) for leaf in leaves]
        _see_that_it_is_plain(
            leaf for leaf, is_value in zip(leaves, wanted, strict=True) if not is_value
        )
        kept = [leaf for leaf, is_value in zip(leaves, wanted, strict=True) if not is_value]
        results.append((structure, wanted, kept))
        orders.append(order_of(written))
        new = [scope.state_mapping[key] for key in scope.written]
        return [leaf for leaf, is_value in zip(leaves, wanted, strict=True) if is_value] + new

    specs = [_spec(value_of(variable)) for variable in known]
    jaxpr = jax.make_jaxpr(step)(specs, arrays)
    assert scope is not None, "the step ran"
    made = [v for v in scope.touched.values() if id(v) not in {id(k) for k in known}]
    if made:
        for variable in made:
            list_variable(variable)
        return None
    slot_of = {id(variable): slot for slot, variable in enumerate(known)}
    written = list(scope.written.values())
    read = [v for key, v in scope.touched.items() if key not in scope.written]
    return TracedStep(
        written=written,
        read=read,
        leaves=leaves_of(written, read),
        engine=scope.engine,
        _jaxpr=jaxpr,
        _result=_rebuilder(*results[-1]),
        _slots=[slot_of[id(variable)] for variable in [*written, *read]],
        _num_known=len(known),
        _order=orders[-1],
    )


def _spec(value: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(value.shape, jax.dtypes.canonicalize_dtype(value.dtype))


def as_value(leaf: Any) -> Any:
    """Take a variable that a step returns for its value."""
    return leaf.value if isinstance(leaf, keras.Variable) else leaf


def _is_value(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array | np.generic | bool | int | float | complex) or (
        is_tracer(leaf) or (isinstance(leaf, np.ndarray) and leaf.dtype.kind not in "OSUMm")
    )


def _see_that_it_is_plain(results: Iterable[Any]) -> None:
    """Refuse a result that may hold values inside, which nobody could find there."""
    for result in results:
        if not isinstance(result, str | bytes | np.ndarray | enum.Enum | type):
            raise NotTraceable(f"it gives a {type(result).__name__}, which is no tensor")


def _rebuilder(structure: Any, wanted: list[bool], kept: list[Any]) -> Any:
    def rebuild(values: Any) -> Any:
        values, others = iter(values), iter(kept)
        leaves = [next(values) if is_value else next(others) for is_value in wanted]
        return jax.tree.unflatten(structure, leaves)

    return rebuild
