"""GradientTape: what ran while it recorded, differentiated backwards.

In: operations on watched values, eagerly or while a step is being traced.  Out: gradients.
Each operation on a watched value runs once, through `jax.vjp`, and leaves its way back on the tape.
Values are known by their identity, as TensorFlow's tape knows its tensors, so they stay
plain JAX values; tapes nest, and an outer one records what an inner one computes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from manyhands.engine.jax_inside import Listening, beneath_listeners
from manyhands.errors import TapeError, explain

Unconnected = Literal["none", "zero"]

_NOT_RECORDED = {"stop_gradient"}
_recording: ContextVar[tuple[Tape, ...]] = ContextVar("manyhands_tapes", default=())


@dataclass(slots=True)
class Entry:
    """One operation: what it took, what it gave, and the way back."""

    sources: list[Any]
    results: list[Any]
    back: Callable[[list[Any]], list[Any]]
    again: Callable[[list[Any]], list[Any]]
    """The way back, computed anew: for a tape that records its own gradients."""


class Tape:
    """Records operations on watched values, and differentiates them.

    Args:
        persistent: whether gradients can be asked for more than once.
        watch_accessed_variables: whether reading a trainable variable watches it.
    """

    def __init__(self, *, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._persistent = persistent
        self._watches_variables = watch_accessed_variables
        self._listening = Listening(self)
        self._entries: list[Entry] | None = []
        self._active: dict[int, Any] = {}
        """Watched values and what depends on them, by identity; held, so that ids stay theirs."""
        self._reads: dict[int, tuple[Any, list[Any]]] = {}
        """Variables that were read, and the values they had."""

    # recording

    def begin(self) -> None:
        """Record from now on."""
        if self._listening.is_on:
            raise ValueError("Tape is already recording.")
        if self._entries is None:
            self._entries = []
        self._listening.begin()
        _recording.set((*_recording.get(), self))

    def end(self) -> None:
        """Record no more."""
        if not self._listening.is_on:
            raise ValueError("Tape is not recording.")
        self._listening.end()
        _recording.set(tuple(tape for tape in _recording.get() if tape is not self))

    @property
    def is_recording(self) -> bool:
        """Whether operations are being recorded."""
        return self._listening.is_on

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Record nothing inside."""
        if not self.is_recording:
            raise ValueError(
                "Attempted to stop recording of a tape which is not recording: "
                "enter the tape first."
            )
        before = _recording.get()
        token = _recording.set(tuple(tape for tape in before if tape is not self))
        try:
            with self._listening.paused():
                yield
        finally:
            _recording.reset(token)

    def reset(self) -> None:
        """Forget everything; go on recording if it was."""
        self._entries, self._active, self._reads = [], {}, {}

    def run(self, name: str, operation: Callable[..., Any], arguments: list[Any]) -> Any:
        """Run one operation, recording it if anything it takes is watched."""
        wanted = [i for i, a in enumerate(arguments) if id(a) in self._active]
        if not wanted or self._entries is None:
            return operation(*arguments)
        if name in _NOT_RECORDED:
            given = operation(*arguments)
            return (
                _distinct([given], arguments)[0] if not isinstance(given, list | tuple) else given
            )
        single = False

        def differentiable(*active: Any) -> list[Any]:
            nonlocal single
            full = list(arguments)
            for i, value in zip(wanted, active, strict=True):
                full[i] = value
            given = operation(*full)
            single = not isinstance(given, list | tuple)
            return [given] if single else list(given)

        sources = [arguments[i] for i in wanted]
        results, back = jax.vjp(differentiable, *sources)
        results = _distinct(results, arguments)
        self._entries.append(
            Entry(
                sources,
                results,
                back=lambda cotangents: list(back(cotangents)),
                again=lambda cotangents: list(jax.vjp(differentiable, *sources)[1](cotangents)),
            )
        )
        for result in results:
            if _is_differentiable(result):
                self._active[id(result)] = result
        return results[0] if single else results

    # watching

    def watch(self, value: Any) -> None:
        """Differentiate with respect to this value, too."""
        if not _is_differentiable(value):
            return
        self._active[id(value)] = value

    def read(self, variable: Any, value: Any) -> None:
        """Take note that a variable was read, and what it gave."""
        if not self._watches_variables or not variable.trainable:
            return
        self.watch_read(variable, value)

    def watch_read(self, variable: Any, value: Any) -> None:
        """Watch a variable's present value."""
        if not _is_differentiable(value):
            return
        self._active[id(value)] = value
        _, values = self._reads.setdefault(id(variable), (variable, []))
        if not any(value is known for known in values):
            values.append(value)

    def read_variables(self) -> list[Any]:
        """List the variables that are watched, in the order of their first read."""
        return [variable for variable, _ in self._reads.values()]

    def leaves_of(self, source: Any) -> list[Any]:
        """List the values that stand for a source: itself, or what a variable gave when read."""
        if id(source) in self._reads:
            return self._reads[id(source)][1]
        return [source]

    # going back

    def gradient(self, target: Any, sources: list[Any], seeds: Any = None) -> list[Any]:
        """Differentiate the sum of the targets; None for a source that they do not depend on."""
        targets = jax.tree.leaves(target)
        seeds = [None] * len(targets) if seeds is None else jax.tree.leaves(seeds, is_leaf=_is_none)
        return self._summed(self._backward(self._start(targets, seeds)), sources)

    def jacobian(self, target: Any, sources: list[Any]) -> list[Any]:
        """Differentiate each element of the target: the target's dims lead, the source's follow."""
        count = int(np.prod(np.shape(target)))
        rows = jnp.eye(count, dtype=jnp.result_type(target)).reshape(count, *np.shape(target))
        connected = [one is not None for one in self.gradient_shape(target, sources)]

        def one_row(seed: Any) -> list[Any]:
            found = self._summed(self._backward(self._start([target], [seed])), sources)
            return [one for one in found if one is not None]

        stacked = iter(jax.vmap(one_row)(rows))
        return [
            (lambda part: part.reshape(*np.shape(target), *part.shape[1:]))(next(stacked))
            if there
            else None
            for there in connected
        ]

    def gradient_shape(self, target: Any, sources: list[Any]) -> list[Any]:
        """Say which sources the target depends on, without computing anything."""
        return jax.eval_shape(
            lambda: self._summed(self._backward(self._start([target], [None])), sources)
        )

    def use(self) -> None:
        """Ask for gradients: once, unless the tape is persistent."""
        if self._entries is None:
            raise RuntimeError(
                "A non-persistent GradientTape can only be used to compute one set of gradients "
                "(or jacobians)"
            )

    def used(self) -> None:
        """Forget what was recorded, unless the tape is persistent."""
        if not self._persistent:
            self._entries = None

    def _start(self, targets: list[Any], seeds: list[Any]) -> dict[int, Any]:
        cotangents: dict[int, Any] = {}
        for target, seed in zip(targets, seeds, strict=True):
            if not _is_differentiable(target):
                continue
            if seed is None:
                seed = jnp.ones(np.shape(target), jnp.result_type(target))
            _add(cotangents, target, jnp.asarray(seed, jnp.result_type(target)))
        return cotangents

    def _backward(self, cotangents: dict[int, Any]) -> dict[int, Any]:
        if self._entries is None:
            raise TapeError(
                explain(
                    "The tape has nothing to differentiate any more.",
                    got="a tape whose gradients have been taken",
                    fix="use GradientTape(persistent=True) to ask more than once.",
                )
            )
        for entry in reversed(self._entries):
            if not any(id(result) in cotangents for result in entry.results):
                continue
            seeds = [_seed(result, cotangents.get(id(result))) for result in entry.results]
            back = entry.again if self.is_recording else entry.back
            for source, given in zip(entry.sources, back(seeds), strict=True):
                if getattr(given, "dtype", None) != jax.dtypes.float0:
                    _add(cotangents, source, given)
        return cotangents

    def _summed(self, cotangents: dict[int, Any], sources: list[Any]) -> list[Any]:
        found = []
        for source in sources:
            parts = [cotangents[id(v)] for v in self.leaves_of(source) if id(v) in cotangents]
            found.append(sum(parts[1:], parts[0]) if parts else None)
        return found


def recording() -> tuple[Tape, ...]:
    """List the tapes that record now, outermost first."""
    return _recording.get()


def note_read(variable: Any, value: Any) -> None:
    """Tell every recording tape that a variable was read."""
    for tape in _recording.get():
        tape.read(variable, value)


def settled(value: Any) -> Any:
    """Give a value that no tape knows: what a variable is set to is where gradients begin."""
    if not _recording.get() or not _is_differentiable(value):
        return value
    with beneath_listeners():
        return jax.lax.optimization_barrier(value)


def _is_none(value: Any) -> bool:
    return value is None


def _is_differentiable(value: Any) -> bool:
    dtype = getattr(value, "dtype", None)
    return dtype is not None and jnp.issubdtype(dtype, jnp.inexact)


def _distinct(results: list[Any], arguments: list[Any]) -> list[Any]:
    """Give an operation that hands an argument on a result of its own identity."""
    known = {id(argument) for argument in arguments}
    distinct = []
    for result in results:
        if id(result) in known and _is_differentiable(result):
            result = jax.lax.optimization_barrier(result)
        known.add(id(result))
        distinct.append(result)
    return distinct


def _add(cotangents: dict[int, Any], value: Any, given: Any) -> None:
    before = cotangents.get(id(value))
    cotangents[id(value)] = given if before is None else before + given


def _seed(result: Any, given: Any) -> Any:
    if given is not None:
        return given
    if _is_differentiable(result):
        return jnp.zeros(np.shape(result), result.dtype)
    return np.zeros(np.shape(result), jax.dtypes.float0)
