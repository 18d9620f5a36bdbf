"""A compiled step gives what calling it gives, whatever changes in Python between two calls."""

from __future__ import annotations

import decimal
import sys
import types
import warnings
from typing import ClassVar

import jax
import keras
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from manyhands.errors import ManyhandsWarning
from tests.strategies.rows import X
from tests.strategies.ways_to_change import HEADER, WAYS

AS_PYTHON = {
    "Python's random numbers",
    "a generator of random numbers",
    "an iterator",
    "a swallowed error",
}
"""Steps that cannot be compiled: they change what they read."""


def module_of(before: str, expression: str, given: str = "") -> types.ModuleType:
    module = sys.modules["a_program"] = types.ModuleType("a_program")
    parameters = f"x, {given}" if given else "x"
    source = f"{HEADER}\n{before}\ndef step({parameters}):\n    return {expression}\n"
    exec(compile(source, "a_program.py", "exec", dont_inherit=True), vars(module))
    return module


def outcome(before: str, expression: str, change: str, given: str, call) -> list[float]:
    """Give what the step gives twice, then twice after the change, in a program of its own."""
    module = module_of(before, expression, given)
    set_back()
    found = []
    for then in ("", change):
        exec(then, vars(module))
        more = (getattr(module, given),) if given else ()
        found += [float(call(module.step, (X, *more))) for _ in range(2)]
    return found


def set_back() -> None:
    keras.config.set_epsilon(1e-7)
    decimal.getcontext().prec = 28
    jax.config.update("jax_default_matmul_precision", None)


@pytest.fixture(autouse=True)
def as_it_was():
    yield
    set_back()
    sys.modules.pop("a_program", None)


@pytest.mark.parametrize("way", WAYS)
def test_a_change_is_seen(four, way):
    before, expression, change, *given = WAYS[way]
    arguments = (before, expression, change, given[0] if given else "")
    wanted = outcome(*arguments, call=lambda step, args: step(*args))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ManyhandsWarning)
        found = outcome(*arguments, call=lambda step, args: four.run(step, args=args))
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    assert bool(said) == (way in AS_PYTHON), [str(w.message) for w in said]


class Nest:
    """A random nest of Python objects around a number: how it is made, read, and changed."""

    LAYERS: ClassVar = {
        "attribute": ("Box(value={})", "{}.value", True),
        "key": ("{{'o': 1, 'k': {}}}", "{}['k']", True),
        "index": ("[0, {}]", "{}[1]", True),
        "slot": ("Slotted({})", "{}.value", True),
        "deque": ("collections.deque([{}])", "{}[0]", True),
        "dataclass": ("Config(lr={})", "{}.lr", True),
        "tuple": ("(0, {})", "{}[1]", False),
        "pair": ("Pair({}, 0)", "{}.first", False),
        "function": ("(lambda v: (lambda: v))({})", "{}()", False),
        "method": ("Box(value={}).get", "{}('value')", False),
        "namespace": ("types.SimpleNamespace(value={})", "getattr({}, 'value')", False),
        "partial": ("functools.partial(lambda v: v, {})", "{}()", False),
    }
    LEAVES: ClassVar = {
        "number": ("1.5", "-2.5", "{}"),
        "array": ("np.ones(3)", "np.arange(3.)", "{}.sum()"),
        "text": ("'ab'", "'abcd'", "len({})"),
        "flag": ("True", "False", "(3.0 if {} else 2.0)"),
    }

    def __init__(self, layers: list[str], leaf: str, place: int) -> None:
        first, second, self._number = self.LEAVES[leaf]
        self._layers = layers
        self.made = self._around(0, first)
        self.read = self._number.format(self._reading(len(layers)))
        where = [i for i, name in enumerate(layers) if self.LAYERS[name][2]]
        if leaf == "array" and place % 3 == 0:
            self.change = f"{self._reading(len(layers))}[...] = {second}"
        elif where:
            i = where[place % len(where)]
            self.change = f"{self._reading(i + 1)} = {self._around(i + 1, second)}"
        else:
            self.change = f"V = {self._around(0, second)}"

    def _around(self, begin: int, inside: str) -> str:
        for name in reversed(self._layers[begin:]):
            inside = self.LAYERS[name][0].format(inside)
        return inside

    def _reading(self, end: int) -> str:
        expression = "V"
        for name in self._layers[:end]:
            expression = self.LAYERS[name][1].format(expression)
        return expression


HOLDERS = {
    "a global": ("V = {}", "{}"),
    "a class": ("class Hold:\n  V = {}\nV = Hold.V", "(lambda V: {})(Hold.V)"),
    "a function": ("V = {}\ndef held(): return V", "(lambda V: {})(held())"),
    "a default": ("V = {}\ndef reads(V=V): return {}", "reads()"),
}


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
@given(
    layers=st.lists(st.sampled_from(list(Nest.LAYERS)), max_size=5),
    leaf=st.sampled_from(list(Nest.LEAVES)),
    place=st.integers(0, 30),
    holder=st.sampled_from(list(HOLDERS)),
)
def test_a_change_anywhere_in_a_nest_is_seen(four, layers, leaf, place, holder):
    nest = Nest(layers, leaf, place)
    made, read = HOLDERS[holder]
    before = made.replace("{}", nest.made, 1).replace("{}", nest.read)
    arguments = (before, f"x.sum() * {read.format(nest.read)}", nest.change, "")
    wanted = outcome(*arguments, call=lambda step, args: step(*args))
    found = outcome(*arguments, call=lambda step, args: four.run(step, args=args))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, err_msg=str(arguments))
