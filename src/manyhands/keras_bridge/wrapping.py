"""Keras' trainer, asking the driver of a model how to run.

In: Keras' methods.  Out: the same, for a model without a driver; for one with a driver, run on it.
"""

from __future__ import annotations

import functools
import inspect
from contextvars import ContextVar
from functools import partial
from typing import Any

from keras.src.backend.jax import trainer as jax_trainer
from keras.src.backend.jax.trainer import JAXTrainer
from keras.src.callbacks.callback_list import CallbackList
from keras.src.callbacks.history import History
from keras.src.callbacks.progbar_logger import ProgbarLogger
from keras.src.models.model import Model
from keras.src.trainers.trainer import Trainer
from keras.src.utils import is_default

from manyhands.data.plain import batch_for_jax
from manyhands.engine.jax_inside import is_eager
from manyhands.engine.launches import launching
from manyhands.keras_bridge import metrics
from manyhands.keras_bridge.binding import FUNCTIONS, active, driver_of
from manyhands.keras_bridge.epochs import FeedEpochIterator
from manyhands.keras_bridge.found_state import find_state
from manyhands.keras_bridge.hooks import hooks
from manyhands.keras_bridge.patching import Patch
from manyhands.keras_bridge.roles import STATE_PARTS, Role
from manyhands.keras_bridge.session import session_of
from manyhands.keras_bridge.state import get_state, nested, release_state
from manyhands.keras_bridge.taking_turns import list_model, taking_turns, turns_given
from manyhands.tracebacks import for_the_program

_CALLS: dict[str, Role] = {
    "fit": "train",
    "evaluate": "test",
    "predict": "predict",
    "train_on_batch": "train",
    "test_on_batch": "test",
    "predict_on_batch": "predict",
}


_role: ContextVar[Role] = ContextVar("manyhands_role", default="train")
"""What Keras is running the active model for."""


def _init(original: Any) -> Any:
    @functools.wraps(original)
    def __init__(self: Any) -> None:  # noqa: N807
        original(self)
        list_model(self)
        hooks.on_new_model(self)

    return __init__


def _compile(original: Any) -> Any:
    @functools.wraps(original)
    def compile(self: Any, *args: Any, **kwargs: Any) -> Any:
        hooks.on_other_model(self, "compile")
        return original(self, *args, **kwargs)

    return compile


def _get_state(get_original: Any) -> Any:
    @functools.wraps(get_original)
    def _get_jax_state(self: Any, **parts: bool) -> Any:
        if driver_of(self) is None:
            return get_original(self, **parts)
        self._jax_state = None  # the variables are the latest state until a step has run
        role = _role_of(parts)
        return nested(self, role, get_state(self, role))

    return _get_jax_state


def _sync(sync_original: Any) -> Any:
    @functools.wraps(sync_original)
    def jax_state_sync(self: Any) -> None:
        if driver_of(self) is None:
            sync_original(self)
        else:
            release_state(self)

    return jax_state_sync


def _role_of(parts: dict[str, bool]) -> Role:
    wanted = tuple(part for part in STATE_PARTS["train"] if parts.get(part))
    return next(role for role, listed in STATE_PARTS.items() if listed == wanted)


def _build(original: Any) -> Any:
    @functools.wraps(original)
    def _symbolic_build(self: Any, iterator: Any = None, data_batch: Any = None) -> None:
        def first_batch() -> Any:
            if data_batch is not None:
                return data_batch
            _, _, batches = next(iter(iterator))
            return batches[0] if isinstance(batches, list | tuple) else next(batches)

        running = active.get()
        ours = running is not None and running[0] is self
        if not ours or not find_state(self, _role.get(), first_batch):
            original(self, iterator=iterator, data_batch=data_batch)

    return _symbolic_build


def _read_metrics(read_original: Any) -> Any:
    @functools.wraps(read_original)
    def _get_metrics_result_or_logs(self: Any, logs: Any) -> Any:
        driver = driver_of(self)
        if driver is not None and driver.trusts_logs(self) and metrics.logs_are_results(self):
            return logs
        return read_original(self, logs)

    return _get_metrics_result_or_logs


def _reset_metrics(reset_original: Any) -> Any:
    @functools.wraps(reset_original)
    def reset_metrics(self: Any) -> None:
        driver = driver_of(self)
        if driver is None or not metrics.reset(self, driver.place):
            reset_original(self)

    return reset_metrics


def _hook(original: Any, *, between_steps: bool = False) -> Any:
    @functools.wraps(original)
    def hook(self: Any, *args: Any, **kwargs: Any) -> None:
        running = active.get()
        if running is None or running[1].spans_processes or not _runs_programs_code(self):
            original(self, *args, **kwargs)
            return
        with turns_given(running[0], between_steps=between_steps):
            original(self, *args, **kwargs)

    return hook


def _runs_programs_code(callbacks: Any) -> bool:
    """Whether a callback is there that may wait for another thread."""
    return any(type(one) not in (History, ProgbarLogger) for one in callbacks.callbacks)


def _batch_hook(original: Any, *, names: tuple[str, ...]) -> Any:
    given = _hook(original, between_steps=True)

    @functools.wraps(original)
    def batch_hook(self: Any, batch: int, logs: Any = None) -> None:
        found = [getattr(callback, hook) for callback in self.callbacks for hook in names]
        if not all(map(is_default, found)):
            given(self, batch, logs)

    return batch_hook


def _model_call(original: Any) -> Any:
    @functools.wraps(original)
    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
        if driver_of(self) is None or launching.is_mine or not is_eager():
            return original(self, *args, **kwargs)
        with session_of(self).turns.taken():
            return original(self, *args, **kwargs)

    return __call__


def _in_turn(original: Any) -> Any:
    """Let what goes over all variables wait for its turn: a launch may use up what it reads."""

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if launching.is_mine or not is_eager():
            return original(self, *args, **kwargs)
        with session_of(self).turns.taken():
            return original(self, *args, **kwargs)

    return call


def _make_function(original: Any, *, role: Role) -> Any:
    function = FUNCTIONS[role]

    @functools.wraps(original)
    def make(self: Any, force: bool = False) -> Any:
        driver = driver_of(self)
        if driver is None:
            return original(self, force=force)
        if getattr(self, function) is None or force:
            setattr(self, function, driver.make_function(self, role))
        return getattr(self, function)

    return make


def _plain_batch(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Give the arrays of `*_on_batch` that JAX would not take as they are."""
    if not name.endswith("_on_batch"):
        return {}
    given = {part: arguments[part] for part in ("x", "y", "sample_weight") if part in arguments}
    return {part: batch_for_jax(value) for part, value in given.items()}


def _call(original: Any, *, name: str) -> Any:
    role = _CALLS[name]
    signature = inspect.signature(original)

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        with for_the_program:
            return run(self, *args, **kwargs)

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        hooks.on_other_model(self, name)
        driver = driver_of(self)
        token = active.set(None if driver is None else (self, driver))
        role_token = _role.set(role)
        try:
            if driver is None:
                with session_of(self).turns.taken():  # Keras on JAX does not survive two threads
                    return original(self, *args, **kwargs)
            try:
                arguments = dict(signature.bind(self, *args, **kwargs).arguments, called=name)
            except TypeError:
                return original(self, *args, **kwargs)  # which says it in Keras' words
            with taking_turns(self, name, role), driver.around(self, role, arguments):
                changes = driver.changes(arguments) | _plain_batch(name, arguments)
                if not changes.keys() <= signature.parameters.keys() or not changes:
                    return original(self, *args, **kwargs)
                bound = signature.bind(self, *args, **kwargs)
                bound.arguments.update(changes)
                return original(*bound.args, **bound.kwargs)
        finally:
            active.reset(token)
            _role.reset(role_token)

    return call


_WHOLE = "the state stays whole while a model trains"
_WHEN = ("begin", "end")
_MOMENTS = [f"on_{what}_{when}" for what in ("train", "epoch", "test", "predict") for when in _WHEN]
_BATCH_MOMENTS = [
    (f"on_{what}_batch_{when}", *([f"on_batch_{when}"] if what == "train" else []))
    for what in ("train", "test", "predict")
    for when in _WHEN
]

PATCHES = [
    Patch(jax_trainer, "JAXEpochIterator", lambda _: FeedEpochIterator, "rows come from our feeds"),
    Patch(JAXTrainer, "__init__", _init, "a model made in a scope belongs to its strategy"),
    Patch(Trainer, "compile", _compile, "a model of another strategy is told so"),
    Patch(JAXTrainer, "_get_jax_state", _get_state, _WHOLE),
    Patch(JAXTrainer, "jax_state_sync", _sync, _WHOLE),
    Patch(Trainer, "_symbolic_build", _build, "a model's own step may build it its own way"),
    Patch(Trainer, "_get_metrics_result_or_logs", _read_metrics, "no launch a metric to read it"),
    Patch(Trainer, "reset_metrics", _reset_metrics, "no launch a metric to reset it"),
    *(Patch(CallbackList, name, _hook, "callbacks may wait for threads") for name in _MOMENTS),
    *(
        Patch(CallbackList, names[0], partial(_batch_hook, names=names), "logs are read if wanted")
        for names in _BATCH_MOMENTS
    ),
    Patch(Model, "__call__", _model_call, "a call waits for a launch that uses up what it reads"),
    *(
        Patch(Model, name, _in_turn, "what goes over all variables waits for its turn")
        for name in ("load_weights", "get_weights", "set_weights")
    ),
    *(
        Patch(JAXTrainer, f"make_{name}", partial(_make_function, role=role), "steps have engines")
        for role, name in FUNCTIONS.items()
    ),
    *(
        Patch(JAXTrainer, name, partial(_call, name=name), "calls run on a model's driver")
        for name in _CALLS
    ),
]
