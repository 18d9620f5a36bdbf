"""A Python function that runs compiled, once for each kind of arguments.

In: a function, an Engine, and calls.  Out: results; the variables it writes are written.
A function that must see values (`.numpy()`, a Python branch on a tensor) cannot be compiled: it
runs eagerly from then on, which is said once.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np

from manyhands.data.dataset.randomness import NotTraceable
from manyhands.engine.dict_order import as_key, in_order, map_in_order, order_of
from manyhands.engine.interrupts import interrupts
from manyhands.engine.jax_inside import is_eager, is_tracer, settings
from manyhands.engine.program import Engine
from manyhands.engine.python_reads import PythonReads, UnfollowedError
from manyhands.engine.split_rows import SplitRows, split_rows
from manyhands.errors import ManyhandsError, warn
from manyhands.keras_bridge.bound_program import BoundProgram
from manyhands.keras_bridge.step_scope import current_step
from manyhands.keras_bridge.taking_turns import Touched
from manyhands.keras_bridge.traced_step import trace_step


class NeedsValuesError(NotTraceable):
    """Raised inside a trace by what only works on values; the function then runs eagerly."""


def refuse_to_print() -> None:
    """Keep a step that nobody asked to compile from printing what is not known yet."""
    step = current_step()
    if step is not None and step.shows_values:
        raise NeedsValuesError("it prints a tensor")


def refuse_in_step(what: str) -> None:
    """Keep what must happen each time a step runs out of a trace, where it would happen once."""
    if current_step() is not None:
        raise NeedsValuesError(what)


class LoopsOverDataError(NeedsValuesError):
    """Raised inside a trace that would read data; what the loop runs is compiled all the same."""


class ChangesPythonError(NeedsValuesError):
    """Raised after a trace that changed Python objects; once it may be a value kept for later."""


_MOST_VARIANTS = 12
"""So many states of Python a function is kept compiled for."""
_MOST_KINDS = 64
"""So many kinds of arguments a step is kept compiled for."""
_WORTH_A_TRACE = 8
"""A function that is traced again more often than once in so many calls runs eagerly."""
_NEEDS_VALUES = (
    NotTraceable,
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerBoolConversionError,
    jax.errors.TracerIntegerConversionError,
    jax.errors.NonConcreteBooleanIndexError,
)


@dataclass(frozen=True, slots=True)
class _Variant:
    """A program, and what its trace has read from Python: it is right while that is the same."""

    program: BoundProgram
    reads: PythonReads | None


@dataclass(frozen=True)
class _Kind:
    """What an argument is to the compiler; arguments of one kind share a program."""

    shape: tuple[int, ...]
    dtype: Any
    num_rows: int | None
    """How many rows are split over the devices; None for an array that is whole on each."""


_BY_CONTENT = {int, float, complex, str, bytes, bool, type(None)}


@dataclass(frozen=True, eq=False)
class _Static:
    """An argument that is part of the program: a number, a string, an object."""

    value: Any

    def __hash__(self) -> int:
        by_content = type(self.value) in _BY_CONTENT
        return hash((type(self.value), self.value)) if by_content else id(self.value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Static) or type(self.value) is not type(other.value):
            return False
        if type(self.value) is float:
            return self.value.hex() == other.value.hex()  # -0.0 is not 0.0, and nan is nan
        if type(self.value) in _BY_CONTENT:
            return bool(self.value == other.value)
        return self.value is other.value


class Function:
    """A Python function, compiled for each kind of its arguments when first called with it.

    Args:
        python_function: what to run; it may read and write Keras variables, and make some.
        engine: what it runs on; None for where its values are, or what a strategy inside it says.
        splits: whether rows of plain arrays are split over the devices, as for a step of a loop,
            which nobody asked to compile: what it prints must be values.
        follows: the Python objects that the function begins with: it means what calling it would,
            so what it reads from Python is followed, and one that changes Python runs eagerly.
        is_frozen: whether it means what it meant when it was traced, as inside a tf.function.
        on_read: told what the function has read, each time it was traced.
    """

    def __init__(
        self,
        python_function: Callable[..., Any],
        engine: Engine | None = None,
        *,
        splits: bool = False,
        follows: Sequence[Any] | None = None,
        is_frozen: bool = False,
        on_read: Callable[[PythonReads], None] = lambda _: None,
    ) -> None:
        self.python_function = python_function
        self.engine = engine
        self.num_traces = 0
        self.runs_eagerly = False
        self._splits = splits
        self._follows = follows
        self._is_frozen = is_frozen
        self._on_read = on_read
        self._num_calls = 0
        self._num_changes = 0
        self._variants: dict[Hashable, list[_Variant]] = {}
        self.touched = Touched()
        """The models whose turns a call takes, where several threads use them."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function."""
        if current_step() is not None or not is_eager():
            return self.python_function(*args, **kwargs)  # part of what is being traced around us
        leaves, structure = jax.tree.flatten((args, kwargs))
        if self.runs_eagerly or _traced_anywhere(leaves):
            return self._eagerly(args, kwargs)
        placed = self._placed(leaves)
        kinds = tuple(map(_kind, placed))
        order = order_of((args, kwargs))
        key = (structure, kinds, as_key(order), _settings())
        self._num_calls += 1
        program = self._known(key)
        if program is None:
            try:
                program = self._traced(key, placed, kinds, structure, order)
            except _NEEDS_VALUES as error:
                if not isinstance(error, ChangesPythonError) or self._changes_often():
                    self._give_up(error)
                return self._eagerly(args, kwargs)
            except Exception as error:
                if not self._can_fail_as_python(error):
                    raise
                return self._eagerly(args, kwargs)  # it fails again, after what it does before
        with interrupts.watched(), interrupts.held():
            return program([_array(leaf) for leaf, k in zip(placed, kinds, strict=True) if _is(k)])

    def _can_fail_as_python(self, error: Exception) -> bool:
        """Whether a step that raised an error while it was traced can be run as it is written."""
        is_alone = self.engine is None or not self.engine.layout.spans_processes
        is_fresh = self._follows is not None and not self._is_frozen
        return is_fresh and is_alone and not isinstance(error, ManyhandsError)

    def _changes_often(self) -> bool:
        """Whether the function changes Python again and again, and not just keeps something."""
        self._num_changes += 1
        return 2 * self._num_changes > self._num_calls + 1

    def _known(self, key: Hashable) -> BoundProgram | None:
        """Find a program that was traced when Python was as it is now."""
        variants = self._variants.get(key, [])
        for place, variant in enumerate(variants):
            if variant.reads is None or variant.reads.hold():
                variants.insert(0, variants.pop(place))
                return variant.program
        return None

    def _traced(
        self, key: Hashable, placed: list[Any], kinds: tuple[Any, ...], structure: Any, order: Any
    ) -> BoundProgram:
        variants = self._variants.setdefault(key, [])
        self._see_that_it_pays(variants)
        variant = self._compile(placed, kinds, structure, order)
        variants.insert(0, variant)
        del variants[_MOST_VARIANTS:]
        if self._follows is not None and len(self._variants) > _MOST_KINDS:
            del self._variants[next(iter(self._variants))]
        return variant.program

    def _see_that_it_pays(self, variants: list[_Variant]) -> None:
        """Give up on a function that would be compiled again nearly each time it is called."""
        if self._follows is None or self._num_calls > _WORTH_A_TRACE * self.num_traces:
            return
        if len(variants) >= _MOST_VARIANTS:
            reads = variants[0].reads
            what = reads.difference() if reads is not None else None
            raise NeedsValuesError(
                f"it reads other Python objects each time it is run ({what or 'they'} changed), so "
                "it would be compiled each time. Pass what changes as arguments: strategy.run("
                "step, args=(...)), or keep it in a Variable"
            )
        if len(self._variants) > _MOST_KINDS // 2:
            raise NeedsValuesError(
                "it is given other Python numbers or objects each time it is run, so it would be "
                "compiled each time. Pass numbers that change as arrays: np.float32(value)"
            )

    def program_for(self, *args: Any, **kwargs: Any) -> tuple[BoundProgram, list[Any]]:
        """Give the program of a call and its arrays, without running it."""
        leaves, structure = jax.tree.flatten((args, kwargs))
        placed = self._placed(leaves)
        kinds = tuple(map(_kind, placed))
        program = self._compile(placed, kinds, structure, order_of((args, kwargs))).program
        return program, [_array(a) for a, kind in zip(placed, kinds, strict=True) if _is(kind)]

    # compiling

    def _compile(
        self, leaves: list[Any], kinds: tuple[Any, ...], structure: Any, order: Any
    ) -> _Variant:
        reads: list[PythonReads] = []
        objects = [kind.value for kind in kinds if isinstance(kind, _Static)]

        def call(arrays: list[Any]) -> Any:
            self.num_traces += 1
            given = iter(arrays)
            full = [
                next(given) if isinstance(kind, _Kind) else leaf
                for leaf, kind in zip(leaves, kinds, strict=True)
            ]
            args, kwargs = in_order(order, jax.tree.unflatten(structure, full))
            if self._follows is None:
                return self.python_function(*args, **kwargs)
            reads[:] = [PythonReads([*self._follows, *objects], is_frozen=self._is_frozen)]
            with reads[0].listening():
                given = self.python_function(*args, **kwargs)
            if not self._is_frozen and not _is_made_of((args, kwargs), structure, full):
                raise ChangesPythonError("it changes a list or dict that it was given")
            return given

        def undo() -> None:
            for read in reads:
                read.restore()

        wanted = [kind for kind in kinds if isinstance(kind, _Kind)]
        specs = [jax.ShapeDtypeStruct(_true_shape(kind), kind.dtype) for kind in wanted]
        try:
            traced = trace_step(call, specs, shows_values=self._splits, before_again=undo)
            if traced is None:
                raise NeedsValuesError("it makes new variables each time it is run")
            if reads and (what := reads[0].changed()) is not None:
                raise ChangesPythonError(
                    f"it changes Python objects ({what}), which a compiled step would not"
                )
        except UnfollowedError as error:
            undo()
            raise NeedsValuesError(str(error)) from None
        except BaseException:
            undo()  # it may do all of it again, eagerly
            raise
        engine = self.engine or traced.engine
        self.touched.add(traced.written, traced.read)
        program = BoundProgram(traced, engine, [kind.num_rows for kind in wanted])
        for read in reads:
            read.settle()
            self._on_read(read)
        return _Variant(program, reads[0] if reads else None)

    def _placed(self, leaves: list[Any]) -> list[Any]:
        if self.engine is None:
            return [_settled(leaf) for leaf in leaves]
        num_rows = next((len(leaf) for leaf in leaves if self._carries_rows(leaf)), None)
        return [
            split_rows(leaf, self.engine.layout)
            if self._carries_rows(leaf) and len(leaf) == num_rows
            else _settled(leaf)
            for leaf in leaves
        ]

    def _carries_rows(self, leaf: Any) -> bool:
        return self._splits and _is_array(leaf) and np.ndim(leaf) > 0 and len(leaf) > 0

    # running without compiling

    def _eagerly(self, args: Any, kwargs: Any) -> Any:
        args, kwargs = _values((args, kwargs))
        token = _freezes.set(_freezes.get() or self._follows is None)
        try:
            return map_in_order(_as_result, self.python_function(*args, **kwargs))
        finally:
            _freezes.reset(token)

    def _give_up(self, error: BaseException) -> None:
        self.runs_eagerly = True
        if isinstance(error, LoopsOverDataError):
            return
        name = getattr(self.python_function, "__name__", repr(self.python_function))
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        reason = reason.rstrip(".")
        warn(
            f"{name} runs eagerly, operation by operation: {reason}. The results are the same, "
            "it is only slower. What is compiled has no .numpy(), no print, no Python branch on a "
            "tensor, and changes no Python object."
        )


_freezes: ContextVar[bool] = ContextVar("manyhands_freezes", default=False)


def is_inside_a_function() -> bool:
    """Whether we run what somebody asked to compile, so that a step means what it did at first."""
    return _freezes.get()


def _is(kind: Any) -> bool:
    return isinstance(kind, _Kind)


def _is_array(leaf: Any) -> bool:
    if isinstance(leaf, keras.Variable):
        return False
    return isinstance(leaf, np.ndarray | np.generic | jax.Array) and leaf.dtype.kind not in "OSUM"


def _traced_anywhere(leaves: list[Any]) -> bool:
    return any(is_tracer(leaf) for leaf in leaves) or any(
        isinstance(leaf, np.ndarray) and leaf.dtype.kind in "OSU" for leaf in leaves
    )


def _kind(leaf: Any) -> Any:
    if isinstance(leaf, SplitRows):
        return _Kind(tuple(leaf.array.shape), leaf.array.dtype, leaf.num_rows)
    if _is_array(leaf):
        return _Kind(tuple(leaf.shape), leaf.dtype, None)
    return _Static(leaf)


def _true_shape(kind: _Kind) -> tuple[int, ...]:
    return kind.shape if kind.num_rows is None else (kind.num_rows, *kind.shape[1:])


def _settled(leaf: Any) -> Any:
    return (
        jnp.asarray(leaf) if isinstance(leaf, np.ndarray | np.generic) and _is_array(leaf) else leaf
    )


def _array(leaf: Any) -> Any:
    return leaf.array if isinstance(leaf, SplitRows) else leaf


def _values(given: Any) -> Any:
    """Give arguments as a function sees them that is not compiled: its own lists and dicts."""
    if type(given) in (tuple, list, dict):
        parts = list(given.values()) if isinstance(given, dict) else list(given)
        values = list(map(_values, parts))
        if all(value is part for value, part in zip(values, parts, strict=True)):
            return given
        kind = type(given)
        return dict(zip(given, values, strict=True)) if kind is dict else kind(values)
    return map_in_order(_value, given)


def _is_made_of(given: Any, structure: Any, leaves: list[Any]) -> bool:
    """Whether arguments are what they were before a function had them."""
    now, now_structure = jax.tree.flatten(given)
    return now_structure == structure and all(map(operator.is_, now, leaves))


def _value(leaf: Any) -> Any:
    if isinstance(leaf, SplitRows):
        return leaf.whole
    return _settled(leaf)


def _as_result(leaf: Any) -> Any:
    return leaf.value if isinstance(leaf, keras.Variable) else leaf


def _settings() -> Hashable:
    """What else a trace depends on: settings of Keras and of JAX."""
    config = keras.config
    named = config.floatx(), str(config.dtype_policy()), config.image_data_format()
    return *named, config.epsilon(), settings()
