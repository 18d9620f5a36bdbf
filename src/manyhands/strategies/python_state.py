"""What a step reads from Python, besides its arguments and variables.

In: a step.  Out: a PythonState: what its code names in globals, in what it closes over and on its
own object, as it is now.  A compiled step is right only while that stays the same; one that
changes it must run as plain Python.
"""

from __future__ import annotations

import functools
import random
import types
from collections.abc import Callable, Iterator
from typing import Any

import jax
import keras
import numpy as np

from manyhands.strategies.fingerprint import Same
from manyhands.strategies.replicas import is_of_replicas

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_MOST_ITEMS = 64
_LIBRARIES = {"keras", "jax", "jaxlib", "numpy", "manyhands", "tensorflow", "builtins", "optree"}


class PythonState:
    """What a step's code can see, and how to put it back."""

    def __init__(self, step: Callable[..., Any]) -> None:
        self._step = step
        self._places: list[tuple[Callable[[Any], None], Any]] = []
        self.uses_num_replicas = False
        """Whether the step's code sees the number of replicas as it is outside of a step."""
        self.key = tuple(self._walk(step, set()))

    def changed(self) -> bool:
        """Whether it is different now."""
        return PythonState(self._step).key != self.key

    def restore(self) -> None:
        """Put plain values and the lengths of lists back."""
        for put, value in self._places:
            put(value)

    def _walk(self, step: Any, seen: set[int]) -> Iterator[Any]:
        if isinstance(step, functools.partial):
            yield from self._walk(step.func, seen)
            return
        if isinstance(step, types.MethodType):
            yield from self._of_object(step.__self__, names_of(step.__func__), seen)
            step = step.__func__
        step = getattr(step, "python_function", step)
        if not isinstance(step, types.FunctionType) or id(step.__code__) in seen:
            return
        seen.add(id(step.__code__))
        names = names_of(step)
        if "random" in names:
            self._places.append((random.setstate, random.getstate()))
            self._places.append((np.random.set_state, np.random.get_state()))
            yield random.getstate()[1][-1], _numpy_position()
        for name in names & step.__globals__.keys():
            yield name
            put = functools.partial(step.__globals__.__setitem__, name)
            yield from self._described(step.__globals__[name], put, names, seen)
        for cell in step.__closure__ or ():
            try:
                held = cell.cell_contents
            except ValueError:  # not set yet
                continue
            put = functools.partial(setattr, cell, "cell_contents")
            yield from self._described(held, put, names, seen)

    def _described(
        self, value: Any, put: Callable[[Any], None], names: frozenset[str], seen: set[int]
    ) -> Iterator[Any]:
        if isinstance(value, _PLAIN):
            self._places.append((put, value))
            self.uses_num_replicas |= is_of_replicas(value) and value != 1
            yield type(value), value
        elif isinstance(value, list | tuple | dict | set):
            yield from self._of_container(value)
        elif isinstance(value, np.ndarray | jax.Array):
            yield Same(value)
        elif isinstance(value, types.FunctionType | types.MethodType | functools.partial):
            if not _is_library(value):
                yield from self._walk(value, seen)
        elif not isinstance(value, types.ModuleType | type):
            yield from self._of_object(value, names, seen)

    def _of_container(self, value: Any) -> Iterator[Any]:
        yield type(value), len(value)
        if isinstance(value, list):
            self._places.append((functools.partial(_truncate, value), len(value)))
        items = value.values() if isinstance(value, dict) else value
        if len(value) <= _MOST_ITEMS:
            yield tuple(item for item in items if isinstance(item, _PLAIN))
        if isinstance(value, dict):
            for name, item in value.items():
                if isinstance(item, _PLAIN):
                    self._places.append((functools.partial(value.__setitem__, name), item))

    def _of_object(self, value: Any, names: frozenset[str], seen: set[int]) -> Iterator[Any]:
        if isinstance(value, keras.layers.Layer):
            inner = getattr(value, "layers", None) or ()
            yield (value.trainable, *(layer.trainable for layer in inner))
        known = hash((id(value), names))
        if known in seen or _is_library(type(value)) or not hasattr(value, "__dict__"):
            return
        seen.add(known)
        held = vars(value)
        for name in sorted(names & (held.keys() | set(dir(type(value))))):
            if name in held:
                put = functools.partial(object.__setattr__, value, name)
                yield name
                yield from self._described(held[name], put, names, seen)
            else:
                method = getattr(type(value), name, None)
                if isinstance(method, types.FunctionType):
                    yield from self._walk(types.MethodType(method, value), seen)
                elif isinstance(method, _PLAIN):
                    self._places.append((functools.partial(_drop, value), name))
                    yield name
                    yield type(method), method


def names_of(function: types.FunctionType) -> frozenset[str]:
    """List the names that a function's code uses, its inner functions' too."""
    return _names(function.__code__)


@functools.lru_cache(maxsize=1024)
def _names(code: types.CodeType) -> frozenset[str]:
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _names(constant)
    return frozenset(found)


def _is_library(value: Any) -> bool:
    return (getattr(value, "__module__", None) or "").split(".")[0] in _LIBRARIES


def _numpy_position() -> Any:
    state: Any = np.random.get_state(legacy=False)
    return state["state"].get("pos"), int(state["state"]["key"][0])


def _drop(value: Any, name: str) -> None:
    """Let an object have its class' attribute again."""
    vars(value).pop(name, None)


def _truncate(items: list[Any], length: int) -> None:
    del items[length:]
