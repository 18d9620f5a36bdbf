"""Keras' trainer, asking the driver of a model how to run.

In: what to do with a new model, with one that has no driver, and with one that builds itself.
Out: Keras' methods, wrapped once a process.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextvars import ContextVar
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
from manyhands.engine.keras_inside import metrics
from manyhands.engine.keras_inside.binding import FUNCTIONS, active, driver_of
from manyhands.engine.keras_inside.compiled import install_compiled
from manyhands.engine.keras_inside.epochs import FeedEpochIterator
from manyhands.engine.keras_inside.saving import install_saving
from manyhands.engine.keras_inside.state import get_state, release_state
from manyhands.engine.keras_inside.steps import install_steps
from manyhands.engine.keras_inside.turns import list_model, taking_turns, turns_given, turns_of
from manyhands.engine.launches import launching
from manyhands.engine.roles import STATE_PARTS, Role
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


def install(
    *,
    on_new_model: Callable[[Any], None],
    on_other_model: Callable[[Any, str], None],
    builds: Callable[[Any, Role, Callable[[], Any]], bool],
) -> None:
    """Teach Keras' trainer about drivers, once a process.

    `on_new_model` is told of each model made; `on_other_model` of calls on a model that has no
    driver, before they run; `builds` may build a model from its first batch, in Keras' place.
    """
    if getattr(JAXTrainer, "_manyhands_installed", False):
        return
    setattr(JAXTrainer, "_manyhands_installed", True)  # noqa: B010
    jax_trainer.JAXEpochIterator = FeedEpochIterator
    _wrap_init(on_new_model)
    _wrap_compile(on_other_model)
    _wrap_state()
    install_steps()
    _wrap_build(builds)
    _wrap_metrics()
    _wrap_callbacks()
    _wrap_model_call()
    for name in ("save", "save_weights", "load_weights", "get_weights", "set_weights"):
        _wrap_in_turn(name)
    install_compiled()
    install_saving()
    for role, function in FUNCTIONS.items():
        _wrap_make_function(role, function)
    for name, role in _CALLS.items():
        _wrap_call(name, role, on_other_model)


def _wrap_init(on_new_model: Callable[[Any], None]) -> None:
    original = JAXTrainer.__init__

    @functools.wraps(original)
    def __init__(self: Any) -> None:  # noqa: N807
        original(self)
        list_model(self)
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
        if driver_of(self) is None:
            return get_original(self, **parts)
        self._jax_state = None  # the variables are the latest state until a step has run
        return get_state(self, _role_of(parts))

    @functools.wraps(sync_original)
    def jax_state_sync(self: Any) -> None:
        if driver_of(self) is None:
            sync_original(self)
        else:
            release_state(self)

    setattr(JAXTrainer, "_get_jax_state", _get_jax_state)  # noqa: B010
    JAXTrainer.jax_state_sync = jax_state_sync


def _role_of(parts: dict[str, bool]) -> Role:
    wanted = tuple(part for part in STATE_PARTS["train"] if parts.get(part))
    return next(role for role, listed in STATE_PARTS.items() if listed == wanted)


def _wrap_build(builds: Callable[[Any, Role, Callable[[], Any]], bool]) -> None:
    """Leave a model to its own step, which may use it in a way that Keras cannot guess."""
    original = Trainer._symbolic_build

    @functools.wraps(original)
    def _symbolic_build(self: Any, iterator: Any = None, data_batch: Any = None) -> None:
        def first_batch() -> Any:
            if data_batch is not None:
                return data_batch
            _, _, batches = next(iter(iterator))
            return batches[0] if isinstance(batches, list | tuple) else next(batches)

        running = active.get()
        if running is None or running[0] is not self or not builds(self, _role.get(), first_batch):
            original(self, iterator=iterator, data_batch=data_batch)

    setattr(Trainer, "_symbolic_build", _symbolic_build)  # noqa: B010


def _wrap_metrics() -> None:
    """Spare the device's idle time between epochs: no launch a metric to read and reset it."""
    read_original, reset_original = Trainer._get_metrics_result_or_logs, Trainer.reset_metrics

    @functools.wraps(read_original)
    def _get_metrics_result_or_logs(self: Any, logs: Any) -> Any:
        driver = driver_of(self)
        if driver is not None and driver.trusts_logs(self) and metrics.logs_are_results(self):
            return logs
        return read_original(self, logs)

    @functools.wraps(reset_original)
    def reset_metrics(self: Any) -> None:
        driver = driver_of(self)
        if driver is None or not metrics.reset(self, driver.place):
            reset_original(self)

    setattr(Trainer, "_get_metrics_result_or_logs", _get_metrics_result_or_logs)  # noqa: B010
    Trainer.reset_metrics = reset_metrics


def _wrap_callbacks() -> None:
    """Read the logs of a launch only when a callback looks at them; let other threads in then."""
    for name in ("on_train_begin", "on_train_end", "on_epoch_begin", "on_epoch_end"):
        _wrap_hook(name)
    for name in ("on_test_begin", "on_test_end", "on_predict_begin", "on_predict_end"):
        _wrap_hook(name)
    _wrap_batch_hook("on_train_batch_begin", "on_batch_begin")
    _wrap_batch_hook("on_test_batch_begin")
    _wrap_batch_hook("on_predict_batch_begin")
    _wrap_batch_hook("on_train_batch_end", "on_batch_end")
    _wrap_batch_hook("on_test_batch_end")
    _wrap_batch_hook("on_predict_batch_end")


def _wrap_hook(name: str, *, between_steps: bool = False) -> None:
    original = getattr(CallbackList, name)

    @functools.wraps(original)
    def hook(self: Any, *args: Any, **kwargs: Any) -> None:
        running = active.get()
        if running is None or running[1].spans_processes or not _runs_programs_code(self):
            original(self, *args, **kwargs)
            return
        with turns_given(running[0], between_steps=between_steps):
            original(self, *args, **kwargs)

    setattr(CallbackList, name, hook)


def _runs_programs_code(callbacks: Any) -> bool:
    """Whether a callback is there that may wait for another thread."""
    return any(type(one) not in (History, ProgbarLogger) for one in callbacks.callbacks)


def _wrap_batch_hook(name: str, *others: str) -> None:
    _wrap_hook(name, between_steps=True)
    given = getattr(CallbackList, name)

    @functools.wraps(given)
    def batch_hook(self: Any, batch: int, logs: Any = None) -> None:
        hooks = [getattr(callback, hook) for callback in self.callbacks for hook in (name, *others)]
        if not all(is_default(hook) for hook in hooks):
            given(self, batch, logs)

    setattr(CallbackList, name, batch_hook)


def _wrap_model_call() -> None:
    """Let a call of the model itself wait for its turn: a launch may use up what it reads."""
    original = Model.__call__

    @functools.wraps(original)
    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
        if driver_of(self) is None or launching.is_mine or not is_eager():
            return original(self, *args, **kwargs)
        with turns_of(self).taken():
            return original(self, *args, **kwargs)

    Model.__call__ = __call__


def _wrap_in_turn(name: str) -> None:
    """Let what goes over all variables wait for its turn: a launch may use up what it reads."""
    original = getattr(Model, name)

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if launching.is_mine or not is_eager():
            return original(self, *args, **kwargs)
        with turns_of(self).taken():
            return original(self, *args, **kwargs)

    setattr(Model, name, call)


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


def _plain_batch(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Give the arrays of `*_on_batch` that JAX would not take as they are."""
    if not name.endswith("_on_batch"):
        return {}
    given = {part: arguments[part] for part in ("x", "y", "sample_weight") if part in arguments}
    return {part: batch_for_jax(value) for part, value in given.items()}


def _wrap_call(name: str, role: Role, on_other_model: Callable[[Any, str], None]) -> None:
    original = getattr(JAXTrainer, name)
    signature = inspect.signature(original)

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        with for_the_program:
            return run(self, *args, **kwargs)

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        on_other_model(self, name)
        driver = driver_of(self)
        token = active.set(None if driver is None else (self, driver))
        role_token = _role.set(role)
        try:
            if driver is None:
                with turns_of(self).taken():  # Keras on JAX does not survive two threads
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

    setattr(JAXTrainer, name, call)
