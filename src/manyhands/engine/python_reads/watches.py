"""Places that a step has read, as they were: fields, items, arrays, and state of other kinds.

In: a place, when it is first seen.  Out: whether it still holds what it held, and a way to put that
back.  Numbers and texts are compared by content, and so are plain containers and arrays; any other
object is what it is: another one in its place is a change.
"""

from __future__ import annotations

import functools
import math
import operator
import types
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import keras
import numpy as np

from manyhands.engine.fingerprint import fingerprint

MISSING = type("Missing", (), {"__repr__": lambda _: "nothing"})()
"""What an attribute, slot or variable holds that is not set."""
PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)
_SMALL_BYTES = 1 << 16


class Alike(Protocol):
    """Compares by content what two objects mean to a step."""

    later: list[Callable[[], None]]
    """What to note once everything is found to be the same, and not before."""

    def __call__(self, now: Any, then: Any) -> bool:
        """Whether a step would read the same from both."""
        ...


Flat = list[tuple[Callable[[Any], Any], Any, tuple[Any, ...]]]
"""Ways to read an object, and what each of them gave."""


class Watch(Protocol):
    """One object that a step has read."""

    def holds(self, alike: Alike) -> bool:
        """Whether it is as it was."""
        ...

    def restore(self) -> None:
        """Make it what it was."""
        ...

    def changed(self) -> str:
        """Name what is different."""
        ...

    def values(self) -> Iterable[Any]:
        """List what was read."""
        ...

    def flat(self) -> Flat | None:
        """Give what `Quick` compares; None for what has to be asked."""
        ...


class Fields:
    """Some names in the dictionary of an object, a class or a module."""

    __slots__ = ("_held", "_saved", "of")

    def __init__(self, of: Any, held: Any) -> None:
        self.of = of
        self._held = held
        self._saved: dict[str, Any] = {}

    def add(self, names: Iterable[str]) -> list[Any]:
        """Watch these names too; return the values that were not known."""
        new = []
        for name in names:
            if name not in self._saved:
                self._saved[name] = value = self._held.get(name, MISSING)
                new.append(value)
        return new

    def holds(self, alike: Alike) -> bool:
        """Whether all names have what they had."""
        for name, saved in self._saved.items():
            now = self._held.get(name, MISSING)
            if now is not saved:
                if not alike(now, saved):
                    return False
                alike.later.append(functools.partial(self._saved.__setitem__, name, now))
        return True

    def flat(self) -> Flat:
        """Give the values by name, and the names that are not there."""
        there = [name for name, value in self._saved.items() if value is not MISSING]
        values = tuple(self._saved[name] for name in there)
        absent = tuple(frozenset(self._saved).difference(there))
        getter = operator.itemgetter(*there) if len(there) > 1 else _one(there)
        found: Flat = [(getter, self._held, values)] if there else []
        is_there = functools.partial(map, self._held.__contains__)
        return [*found, (is_there, absent, (False,) * len(absent))] if absent else found

    def restore(self) -> None:
        """Give the names their values back, those apart that now have what a model is made of."""
        for name, saved in self._saved.items():
            now = self._held.get(name, MISSING)
            if now is not saved and not _is_of_a_model(now):
                self._put(name, saved)

    def _put(self, name: str, value: Any) -> None:
        if isinstance(self.of, type):
            if value is MISSING:
                delattr(self.of, name)
            else:
                setattr(self.of, name, value)
        elif value is MISSING:
            self._held.pop(name, None)
        else:
            self._held[name] = value

    def changed(self) -> str:
        """Name the first field that is another."""
        for name, saved in self._saved.items():
            if self._held.get(name, MISSING) is not saved:
                return f"{name} of {_called(self.of)}"
        return _called(self.of)

    def values(self) -> Iterable[Any]:
        """List what the fields held."""
        return self._saved.values()


class Items:
    """Everything in a list, dict, set or deque; read as those are, whatever a subclass does."""

    __slots__ = ("_keys", "_values", "held")

    def __init__(self, held: Any) -> None:
        self._watch(held)

    def _watch(self, held: Any) -> None:
        self.held = held
        self._keys, self._values = items_of(held)

    def holds(self, alike: Alike) -> bool:
        """Whether the same things are in there, in the same order."""
        return self.is_like(self.held, alike)

    def is_like(self, other: Any, alike: Alike) -> bool:
        """Whether a container holds the same things; if so, that one is watched later."""
        keys, values = items_of(other)
        if isinstance(other, set) and other is not self.held:
            return False
        if len(values) != len(self._values) or not all(map(alike, values, self._values)):
            return False
        if keys is not None and not all(map(_same_key, keys, self._keys or ())):
            return False
        alike.later.append(functools.partial(self._watch, other))
        return True

    def flat(self) -> Flat:
        """Give the items, and a dict's keys."""
        if self._keys is None:
            return [(_reader(self.held), self.held, tuple(self._values))]
        kind = _dict_of(self.held)
        return [
            (kind.keys, self.held, tuple(self._keys)),
            (kind.values, self.held, tuple(self._values)),
        ]

    def restore(self) -> None:
        """Put everything back in."""
        held = self.held
        values = items_of(held)[1]
        if len(values) == len(self._values) and all(map(operator.is_, values, self._values)):
            return
        if any(map(_is_of_a_model, values[len(self._values) :])):
            return
        kind: Any
        if isinstance(held, dict):
            kind = _dict_of(held)
            kind.clear(held)
            for key, value in zip(self._keys or (), self._values, strict=True):
                kind.__setitem__(held, key, value)
        elif isinstance(held, set):
            set.clear(held)
            set.update(held, self._values)
        else:
            kind = deque if isinstance(held, deque) else list
            kind.clear(held)
            kind.extend(held, self._values)

    def changed(self) -> str:
        """Name the container."""
        return f"a {type(self.held).__name__}"

    def values(self) -> Iterable[Any]:
        """List what was in there."""
        return self._values


class Array:
    """The numbers of a NumPy array, which may be changed in place."""

    __slots__ = ("_bytes", "_copy", "_held")

    def __init__(self, held: np.ndarray) -> None:
        self._held = held
        self._copy = np.array(held)
        self._bytes = held.tobytes() if held.nbytes <= _SMALL_BYTES else b""

    def holds(self, alike: Alike) -> bool:
        """Whether the numbers are the same, bit for bit."""
        del alike
        return self._same_numbers(self._held)

    def _same_numbers(self, other: Any) -> bool:
        copy = self._copy
        if other.shape != copy.shape or other.dtype != copy.dtype:
            return False
        if other.nbytes <= _SMALL_BYTES:
            return other.tobytes() == self._bytes
        now, then = (
            np.ascontiguousarray(part).reshape(-1).view(np.uint8) for part in (other, copy)
        )
        return bool(np.array_equal(now, then))

    def is_like(self, other: Any, alike: Alike) -> bool:
        """Whether another array has the same numbers; if so, that one is watched later."""
        if not self._same_numbers(other):
            return False
        alike.later.append(functools.partial(self._watch, other))
        return True

    def _watch(self, held: np.ndarray) -> None:
        self._held = held

    def flat(self) -> None:
        """Nothing: the numbers are no objects."""

    def restore(self) -> None:
        """Put the numbers back."""
        if not self._same_numbers(self._held):
            self._held[...] = self._copy

    def changed(self) -> str:
        """Name the array."""
        return f"an array of shape {self._copy.shape}"

    def values(self) -> Iterable[Any]:
        """List nothing: the numbers are no objects."""
        return ()


class Code:
    """A function's code, defaults and attributes; one made anew that is the same may follow it."""

    __slots__ = ("_named", "_value", "held")

    def __init__(self, held: types.FunctionType) -> None:
        self._watch(held)

    def _watch(self, held: types.FunctionType) -> None:
        self.held = held
        self._value = _parts_of(held)
        self._named = dict(held.__kwdefaults__ or {}), dict(held.__dict__)

    def holds(self, alike: Alike) -> bool:
        """Whether they are what they were."""
        return alike(_parts_of(self.held), self._value)

    def is_like(self, other: Any, alike: Alike) -> bool:
        """Whether a function that closes over nothing was only made anew."""
        closes = self.held.__closure__ or other.__closure__
        named = self.held.__dict__ or other.__dict__
        if closes or named or fingerprint(other) != fingerprint(self.held):
            return False
        alike.later.append(functools.partial(self._watch, other))
        return True

    def flat(self) -> Flat:
        """Give all of them."""
        return [(_parts_of, self.held, self._value)]

    def restore(self) -> None:
        """Put them back."""
        held = self.held
        if all(map(operator.is_, _parts_of(held), self._value)):
            return
        held.__code__, held.__defaults__ = self._value[:2]
        if held.__kwdefaults__ or self._named[0]:
            held.__kwdefaults__ = self._named[0]
        held.__dict__.clear()
        held.__dict__.update(self._named[1])

    def changed(self) -> str:
        """Name the function."""
        return f"{self.held.__name__}'s defaults"

    def values(self) -> Iterable[Any]:
        """List nothing: its cells and defaults are watched by themselves."""
        return ()


class State:
    """What something else holds, as a value that can be compared: a random state, a slot."""

    __slots__ = ("_name", "_put", "_read", "_value")

    def __init__(
        self, name: str, read: Callable[[], Any], put: Callable[[Any], None] | None = None
    ) -> None:
        self._name, self._read, self._put = name, read, put
        self._value = read()

    def holds(self, alike: Alike) -> bool:
        """Whether it is what it was."""
        return alike(self._read(), self._value)

    def flat(self) -> None:
        """Nothing: it has to be asked."""

    def restore(self) -> None:
        """Put it back."""
        if self._put is not None and self._read() is not self._value:
            self._put(self._value)

    def changed(self) -> str:
        """Name it."""
        return self._name

    def values(self) -> Iterable[Any]:
        """List what it held."""
        return (self._value,)


class Kind:
    """The class that an object is of."""

    __slots__ = ("_held", "_kind", "_of")

    def __init__(self, of: Any) -> None:
        self._of = of
        self._kind, self._held = _kind_of(of)

    def holds(self, alike: Alike) -> bool:
        """Whether it is still of that class, with the same dictionary."""
        del alike
        kind, held = _kind_of(self._of)
        return kind is self._kind and held is self._held

    def flat(self) -> Flat:
        """Give both."""
        return [(_kind_of, self._of, (self._kind, self._held))]

    def restore(self) -> None:
        """Give the object its class back."""
        if type(self._of) is not self._kind:
            self._of.__class__ = self._kind
        if _kind_of(self._of)[1] is not self._held:
            self._of.__dict__ = self._held

    def changed(self) -> str:
        """Name the class."""
        return f"the class of a {self._kind.__name__}"

    def values(self) -> Iterable[Any]:
        """List nothing: classes are watched by themselves."""
        return ()


class OfMany:
    """One attribute of many objects of a kind."""

    __slots__ = ("_name", "_of", "_values")

    def __init__(self, of: Iterable[Any], name: str) -> None:
        self._name = name
        self._of = tuple(one for one in of if name in vars(one))
        self._values = tuple(self._read(self._of))

    def _read(self, of: Iterable[Any]) -> Iterable[Any]:
        return map(operator.attrgetter(self._name), of)

    def holds(self, alike: Alike) -> bool:
        """Whether each has what it had."""
        return all(map(alike, self._read(self._of), self._values))

    def flat(self) -> Flat:
        """Give all values."""
        return [(self._read, self._of, self._values)]

    def restore(self) -> None:
        """Nothing: it is read after the step."""

    def changed(self) -> str:
        """Name the attribute."""
        return f"{self._name} of a {type(self._of[0]).__name__}"

    def values(self) -> Iterable[Any]:
        """List what they had."""
        return self._values


def _parts_of(function: types.FunctionType) -> tuple[Any, ...]:
    """List a function's code and defaults, and how many of each there are."""
    named, own = function.__kwdefaults__ or {}, function.__dict__
    numbers = len(named), len(own)
    parts = (*named, *named.values(), *own, *own.values())
    texts = function.__name__, function.__doc__
    return (function.__code__, function.__defaults__, *numbers, *texts, *parts)


def items_of(held: Any) -> tuple[list[Any] | None, list[Any]]:
    """List a dict's keys and values, or no keys and the items of another container."""
    if isinstance(held, dict):
        kind = _dict_of(held)
        return list(kind.keys(held)), list(kind.values(held))
    return None, list(_reader(held)(held))


def _dict_of(held: Any) -> Any:
    return OrderedDict if isinstance(held, OrderedDict) else dict


def _reader(held: Any) -> Callable[[Any], Any]:
    for kind, copy in ((list, list.copy), (set, set.copy), (deque, deque.copy)):
        if isinstance(held, kind):
            return tuple if type(held) is kind else copy
    raise AssertionError(type(held))


def same_plain(now: Any, then: Any) -> bool:
    """Whether two numbers or texts are the same: -0.0 is not 0.0, and nan is nan."""
    if now == then:
        return not isinstance(now, float) or math.copysign(1, now) == math.copysign(1, then)
    return now != now and then != then  # nan


def _is_of_a_model(value: Any) -> bool:
    """Whether a step made a part of a model, which it makes once and keeps."""
    parts = (keras.Variable, keras.layers.Layer, keras.optimizers.Optimizer, keras.metrics.Metric)
    return isinstance(value, parts)


def _same_key(now: Any, then: Any) -> bool:
    if now is then:
        return True
    return type(now) is type(then) and isinstance(now, PLAIN) and same_plain(now, then)


def _one(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    return lambda held: (held[names[0]],)


def _kind_of(value: Any) -> tuple[type, Any]:
    try:
        return type(value), object.__getattribute__(value, "__dict__")
    except AttributeError:  # it has slots
        return type(value), None


def _called(value: Any) -> str:
    name = getattr(value, "__name__", None)
    return name if isinstance(name, str) else f"a {type(value).__name__}"
