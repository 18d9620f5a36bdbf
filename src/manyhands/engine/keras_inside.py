"""The only module that touches Keras' private names.

In: a `Driver` for a model that belongs to a strategy.  Out: Keras' own `fit`, `evaluate`,
`predict` and `*_on_batch`, running on that driver.  A model without a driver runs as ever.
Keras' loops stay Keras': we give them other step functions (`make_*_function`) and another
epoch iterator, and keep the model's state whole while they run.

tests/engine/test_keras_inside.py fails when a new Keras changes what is used here.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any, Protocol

import keras
from keras.src.backend.jax import trainer as jax_trainer
from keras.src.backend.jax.trainer import JAXEpochIterator, JAXTrainer
from keras.src.callbacks.callback_list import CallbackList
from keras.src.trainers.data_adapters import array_slicing
from keras.src.trainers.data_adapters.array_data_adapter import ArrayDataAdapter
from keras.src.trainers.trainer import Trainer
from keras.src.utils import is_default

from manyhands.engine.lift import STATE_PARTS, Role
from manyhands.engine.program import State

_DRIVER = "_manyhands_driver"
_FUNCTIONS: dict[Role, str] = {
    "train": "train_function",
    "test": "test_function",
    "predict": "predict_function",
}
_CALLS: dict[str, Role] = {
    "fit": "train",
    "evaluate": "test",
    "predict": "predict",
    "train_on_batch": "train",
    "test_on_batch": "test",
    "predict_on_batch": "predict",
}
_BATCH_HOOKS: dict[Role, tuple[str, ...]] = {
    "train": ("on_batch_begin", "on_batch_end", "on_train_batch_begin", "on_train_batch_end"),
    "test": ("on_test_batch_begin", "on_test_batch_end"),
    "predict": ("on_predict_batch_begin", "on_predict_batch_end"),
}


class Feed(Protocol):
    """Gives rows to a step function; `next` gives a host batch, for building a model."""

    def __iter__(self) -> Feed: ...
    def __next__(self) -> Any: ...
    def begin(self, num_steps: int | None) -> Iterator[int]:
        """Start an epoch; give the number of steps of each launch, in order."""
        ...


class Feeder(Protocol):
    """Opens a Feed for each pass over one data set."""

    def open(self) -> Feed:
        """Start a pass."""
        ...

    def open_early(self, num_steps: int) -> None:
        """Begin the next pass ahead of time, if that changes nothing."""
        ...


class Driver(Protocol):
    """What runs the models of a strategy."""

    def make_function(self, model: Any, role: Role) -> Callable[..., Any]:
        """Make what Keras calls as `train_function(state, iterator)`."""
        ...

    def make_feeder(self, model: Any, adapter: Any, steps_per_execution: int) -> Feeder:
        """Make what feeds one data set."""
        ...

    def around(self, model: Any, role: Role, arguments: dict[str, Any]) -> AbstractContextManager:
        """Enter before, leave after each call of Keras' methods on a model."""
        ...


# Whose models are these?


def bind(model: Any, driver: Driver | None) -> None:
    """Give a model to a driver; the model forgets the functions it had compiled."""
    object.__setattr__(model, _DRIVER, driver)
    for function in _FUNCTIONS.values():
        object.__setattr__(model, function, None)


def driver_of(model: Any) -> Driver | None:
    """Return the driver a model was given to, if any."""
    return getattr(model, _DRIVER, None)


def function_of(model: Any, role: Role) -> Any:
    """Return the step function a model has for this role, None before it is made."""
    return getattr(model, _FUNCTIONS[role], None)


_active: ContextVar[tuple[Any, Driver] | None] = ContextVar("manyhands_active", default=None)


# The state of a model while Keras' loops run


def get_state(model: Any, role: Role) -> State:
    """Read the arrays of a model's variables for this role's step."""
    return tuple([v.value for v in _variables(model, part)] for part in STATE_PARTS[role])


class Part:
    """One list of a state, in a shape that Keras does not look into.

    Keras tracks every list and dict that is set on a model, element by element, and its loops set
    the state after each step.
    """

    __slots__ = ("arrays",)

    def __init__(self, arrays: list[Any]) -> None:
        self.arrays = arrays

    def __iter__(self) -> Iterator[Any]:
        return iter(self.arrays)

    def __len__(self) -> int:
        return len(self.arrays)


def unshared(model: Any, role: Role, state: Any) -> State:
    """Copy what the optimizer also holds: a step uses its state up, not the optimizer's.

    After an EMA overwrite the weights and their averages are the same arrays.
    """
    if role == "train" or getattr(model, "optimizer", None) is None:
        return tuple(list(part) for part in state)
    others = {id(variable._value) for variable in model.optimizer.variables}
    return tuple(
        [array.copy() if id(array) in others else array for array in part] for part in state
    )


def hold_state(model: Any, role: Role, state: State) -> tuple[Part, ...]:
    """Make this the model's latest state, which `release_state` writes to the variables."""
    parts = tuple(Part(arrays) for arrays in state)
    object.__setattr__(model, "_jax_state", dict(zip(STATE_PARTS[role], parts, strict=True)))
    object.__setattr__(model, "_jax_state_synced", False)
    return parts


def release_state(model: Any) -> None:
    """Write the latest state back to the variables."""
    held = getattr(model, "_jax_state", None)
    if not held or model._jax_state_synced:
        return
    for part, values in held.items():
        for variable, value in zip(_variables(model, part), values, strict=True):
            if value.dtype == variable.dtype and value.shape == variable.shape:
                variable._value = value
            else:
                variable.assign(value)  # casts, or says what does not fit
    model._jax_state_synced = True


def _variables(model: Any, part: str) -> list[Any]:
    return model.optimizer.variables if part == "optimizer_variables" else getattr(model, part)


# What Keras knows about a model and its data


def compiles(model: Any) -> bool:
    """Whether the model's steps may be compiled."""
    return bool(not model.run_eagerly and model.jit_compile)


class ArrayRows:
    """What Keras' adapter knows about arrays given to `fit`: how they are cut into batches."""

    def __init__(self, adapter: ArrayDataAdapter) -> None:
        self.num_rows: int = adapter._num_samples
        self.batch_size: int = adapter._batch_size
        self.shuffle: bool | str = adapter._shuffle
        self._inputs = adapter._inputs
        self.refresh()

    def refresh(self) -> None:
        """Look at the arrays again, as Keras does at the start of each pass."""
        self._sliceable = array_slicing.convert_to_sliceable(self._inputs, target_backend="jax")
        self._arrays = self._plain()

    def arrays(self) -> Any | None:
        """Give the data as plain arrays, floats as Keras wants them; None if some are not plain."""
        return self._arrays

    def _plain(self) -> Any | None:
        dense = (array_slicing.NumpySliceable, array_slicing.PandasSliceable)
        if not all(isinstance(p, dense) for p in keras.tree.flatten(self._sliceable) if p):
            return None
        return keras.tree.map_structure(
            lambda part: part.convert_to_jax_compatible(part[:]),
            self._sliceable,
            none_is_leaf=False,
        )

    def pick(self, rows: Any) -> Any:
        """Give a batch of these rows (a slice or row numbers), as Keras' adapter would."""
        return keras.tree.map_structure(
            lambda part: part.convert_to_jax_compatible(part[rows]),
            self._sliceable,
            none_is_leaf=False,
        )


def array_rows(adapter: Any) -> ArrayRows | None:
    """Look into an adapter of arrays; None for any other."""
    return ArrayRows(adapter) if type(adapter) is ArrayDataAdapter else None


def rows_given(x: Any, y: Any, sample_weight: Any) -> list[tuple[str, int]]:
    """List the number of rows of each array given; empty for data that is not arrays."""
    given = {"x": x, "y": y, "sample_weight": sample_weight}
    sizes = []
    for name, value in given.items():
        for part in keras.tree.flatten(value):
            if part is None:
                continue
            if not array_slicing.can_slice_array(part) or not getattr(part, "shape", None):
                return []
            sizes.append((name, int(part.shape[0])))
    return sizes


def watches_batches(callbacks: Any, role: Role) -> bool:
    """Whether any callback looks at single batches of this role."""
    return any(
        not is_default(getattr(callback, hook))
        for callback in user_callbacks(callbacks)
        if not _sleeps_between_epochs(callback)
        for hook in _BATCH_HOOKS[role]
        if hasattr(callback, hook)
    )


def user_callbacks(callbacks: Any) -> list[Any]:
    """List the callbacks that somebody passed: not Keras' progress bar and history."""
    listed = callbacks.callbacks if isinstance(callbacks, CallbackList) else callbacks
    ours = (keras.callbacks.ProgbarLogger, keras.callbacks.History)
    return [
        callback
        for callback in keras.tree.flatten(listed)
        if callback is not None and type(callback) not in ours
    ]


def _sleeps_between_epochs(callback: Any) -> bool:
    """Whether a callback's batch hooks are content with a call a launch, or do nothing at all."""
    if getattr(callback, "counts_launches", False):
        return True
    saves = (keras.callbacks.ModelCheckpoint, keras.callbacks.BackupAndRestore)
    return type(callback) in saves and getattr(callback, "save_freq", None) == "epoch"


_QUIET_CALLBACKS = (
    keras.callbacks.BackupAndRestore,
    keras.callbacks.CSVLogger,
    keras.callbacks.EarlyStopping,
    keras.callbacks.ModelCheckpoint,
    keras.callbacks.ReduceLROnPlateau,
    keras.callbacks.SwapEMAWeights,
    keras.callbacks.TensorBoard,
    keras.callbacks.TerminateOnNaN,
)
_QUIET_METHODS = ("evaluate", "reset_metrics", "compute_metrics", "get_metrics_result")


def _are_arrays(validation: Any) -> bool:
    """Whether validation data is arrays; nothing else may be looked into without using it up."""
    if not isinstance(validation, tuple | list) or len(validation) > 3:
        return False
    return bool(rows_given(*[*validation, None, None][:3]))


def runs_only_known_code(model: Any, callbacks: Any, validation: Any) -> bool:
    """Whether nobody else's code runs between two epochs.

    Then nobody can change the data or draw random numbers there.
    """
    return (
        all(
            type(callback) in _QUIET_CALLBACKS or getattr(callback, "counts_launches", False)
            for callback in user_callbacks(callbacks)
        )
        and all(
            getattr(type(model), m) is getattr(Trainer, m, None)
            or getattr(type(model), m) is getattr(JAXTrainer, m)
            for m in _QUIET_METHODS
        )
        and (validation is None or _are_arrays(validation))
    )


# Keras' epoch iterator, with a feed


class FeedEpochIterator(JAXEpochIterator):
    """Keras' epoch iterator over a Feed, several steps a launch where nobody looks between."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        active = _active.get()
        self._feeder: Feeder | None = None
        if active is not None:
            model, driver = active
            self._feeder = driver.make_feeder(model, self.data_adapter, self.steps_per_execution)

    def _get_iterator(self) -> Any:
        return super()._get_iterator() if self._feeder is None else self._feeder.open()

    def _enumerate_iterator(self) -> Generator[tuple[int, int, Any], Any, None]:
        if self._feeder is None:
            yield from super()._enumerate_iterator()
            return
        self.data_adapter.on_epoch_begin()
        num_steps = self.steps_per_epoch or self._num_batches
        if not num_steps or self._current_iterator is None or self.steps_per_epoch is None:
            self._current_iterator = self._feeder.open()
            self._steps_seen = 0
        step = 0
        for launched in self._current_iterator.begin(num_steps):
            if self._num_batches and self._steps_seen >= self._num_batches:
                if self.steps_per_epoch:
                    self._interrupted_warning()
                break
            self._steps_seen += launched
            yield step, step + launched - 1, self._current_iterator
            step += launched
        if self._num_batches and self._steps_seen >= self._num_batches:
            self._steps_seen = 0
            if self.steps_per_epoch is None:
                self._feeder.open_early(self._num_batches)
            else:
                self._current_iterator = self._feeder.open()
        self.data_adapter.on_epoch_end()


# Keras' trainer, asking the driver


def install(
    *, on_new_model: Callable[[Any], None], on_other_model: Callable[[Any, str], None]
) -> None:
    """Teach Keras' trainer about drivers, once a process.

    `on_new_model` is told of each model made; `on_other_model` of calls on a model that has no
    driver, before they run.
    """
    if getattr(JAXTrainer, "_manyhands_installed", False):
        return
    setattr(JAXTrainer, "_manyhands_installed", True)  # noqa: B010
    jax_trainer.JAXEpochIterator = FeedEpochIterator
    _wrap_init(on_new_model)
    _wrap_compile(on_other_model)
    _wrap_state()
    for role, function in _FUNCTIONS.items():
        _wrap_make_function(role, function)
    for name, role in _CALLS.items():
        _wrap_call(name, role, on_other_model)


def _wrap_init(on_new_model: Callable[[Any], None]) -> None:
    original = JAXTrainer.__init__

    @functools.wraps(original)
    def __init__(self: Any) -> None:  # noqa: N807
        original(self)
        on_new_model(self)

    JAXTrainer.__init__ = __init__


def _wrap_compile(on_other_model: Callable[[Any, str], None]) -> None:
    original = Trainer.compile

    @functools.wraps(original)
    def compile(self: Any, *args: Any, **kwargs: Any) -> Any:
        on_other_model(self, "compile")
        return original(self, *args, **kwargs)

    Trainer.compile = compile  # where it is defined: Keras asks whether a model overrides it


def _wrap_state() -> None:
    """Keep the state whole: Keras empties the variables while it trains, and we never do."""
    get_original, sync_original = JAXTrainer._get_jax_state, JAXTrainer.jax_state_sync

    @functools.wraps(get_original)
    def _get_jax_state(self: Any, **parts: bool) -> Any:
        if driver_of(self) is not None:
            parts["purge_model_variables"] = False
            self._jax_state = None  # the variables are the latest state until a step has run
        return get_original(self, **parts)

    @functools.wraps(sync_original)
    def jax_state_sync(self: Any) -> None:
        if driver_of(self) is None:
            sync_original(self)
        else:
            release_state(self)

    setattr(JAXTrainer, "_get_jax_state", _get_jax_state)  # noqa: B010
    JAXTrainer.jax_state_sync = jax_state_sync


def _wrap_make_function(role: Role, function: str) -> None:
    name = f"make_{function}"
    original = getattr(JAXTrainer, name)

    @functools.wraps(original)
    def make(self: Any, force: bool = False) -> Any:
        driver = driver_of(self)
        if driver is None:
            return original(self, force=force)
        if getattr(self, function) is None or force:
            setattr(self, function, driver.make_function(self, role))
        return getattr(self, function)

    setattr(JAXTrainer, name, make)


def _wrap_call(name: str, role: Role, on_other_model: Callable[[Any, str], None]) -> None:
    original = getattr(JAXTrainer, name)
    signature = inspect.signature(original)

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        on_other_model(self, name)
        driver = driver_of(self)
        token = _active.set(None if driver is None else (self, driver))
        try:
            if driver is None:
                return original(self, *args, **kwargs)
            try:
                arguments = dict(signature.bind(self, *args, **kwargs).arguments, called=name)
            except TypeError:
                return original(self, *args, **kwargs)  # which says it in Keras' words
            with driver.around(self, role, arguments):
                return original(self, *args, **kwargs)
        finally:
            _active.reset(token)

    setattr(JAXTrainer, name, call)


__all__ = [
    "ArrayRows",
    "Driver",
    "Feed",
    "FeedEpochIterator",
    "Feeder",
    "Part",
    "array_rows",
    "bind",
    "compiles",
    "driver_of",
    "function_of",
    "get_state",
    "hold_state",
    "install",
    "release_state",
    "rows_given",
    "runs_only_known_code",
    "unshared",
    "user_callbacks",
    "watches_batches",
]
