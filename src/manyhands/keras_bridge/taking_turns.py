"""A call of Keras' methods on a model, when it is this thread's turn.

In: a model, and what is called.  Out: the call runs alone; others get turns where it gives them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from weakref import WeakSet

from manyhands.errors import ScopeError, explain
from manyhands.keras_bridge.roles import Role
from manyhands.keras_bridge.session import session_of
from manyhands.keras_bridge.state import release_state
from manyhands.keras_bridge.turns import Turns


def list_model(model: Any) -> None:
    """Count a model among those that threads may share."""
    _models.add(model)


_models: WeakSet[Any] = WeakSet()


class Touched:
    """The models that a step touches, found by its variables; all there are, before it is known."""

    def __init__(self) -> None:
        self._known = False
        self._models: WeakSet[Any] = WeakSet()
        self._trained: WeakSet[Any] = WeakSet()

    def add(self, written: Iterable[Any], read: Iterable[Any]) -> None:
        """Note what a step writes and reads."""
        self._known = True
        trained = {id(variable) for variable in written if variable.trainable}
        touched = {id(variable) for variable in (*written, *read)}
        for model in list(_models):
            if any(id(variable) in touched for variable in _variables_of(model)):
                self._models.add(model)
            if any(id(variable) in trained for variable in model.trainable_variables):
                self._trained.add(model)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Have the turns of all of them, in one order for all threads."""
        models = sorted(self._models if self._known else _models, key=id)
        with ExitStack() as stack:
            for model in models:
                turns = session_of(model).turns
                if turns.is_in_fit and model in self._trained:
                    _refuse_training_twice(turns, model, "strategy.run", "train")
                stack.enter_context(turns.taken())
            yield


@contextmanager
def turns_of_all(things: Iterable[Any]) -> Iterator[None]:
    """Have the turns of those things that are models, in one order for all threads."""
    known = {id(model) for model in list(_models)}
    models = {id(thing): thing for thing in things if id(thing) in known}
    with ExitStack() as stack:
        for key in sorted(models):
            session = session_of(models[key])
            driver = session.driver
            if driver is None or not driver.spans_processes:  # whose threads take no turns
                stack.enter_context(session.turns.taken())
        yield


def _variables_of(model: Any) -> list[Any]:
    optimizer = getattr(model, "optimizer", None)
    return [*model.variables, *(optimizer.variables if optimizer is not None else [])]


@contextmanager
def taking_turns(model: Any, name: str, role: Role) -> Iterator[None]:
    """Run one call of Keras' methods on a model, when it is this thread's turn."""
    turns = session_of(model).turns
    _refuse_training_twice(turns, model, name, role)
    with turns.taken(alone=role == "train"):
        _refuse_training_twice(turns, model, name, role)
        if turns.is_guest:
            with _metrics_kept(model):
                yield
        else:
            with turns.hosting(is_fit=name == "fit"):
                yield


def _refuse_training_twice(turns: Turns, model: Any, name: str, role: Role) -> None:
    if role == "train" and turns.is_in_fit:
        raise ScopeError(
            explain(
                "Another thread is training this model.",
                got=f"{name} of model {model.name!r} while its fit runs in another thread",
                fix="wait until that fit has ended, or train a copy: "
                "keras.models.clone_model(model). predict and evaluate may be called meanwhile.",
            )
        )


def give_turns(model: Any) -> bool:
    """Let those who wait have their turns now, with the latest state; whether there were any."""
    turns = session_of(model).turns
    if not turns.is_wanted:
        return False
    release_state(model)
    with turns.given():
        pass
    return True


@contextmanager
def turns_given(model: Any, *, between_steps: bool) -> Iterator[None]:
    """Let others have turns while a callback runs.

    Between steps nothing is written back for it alone: callbacks that do not look at the model
    are called while the devices go on.
    """
    turns = session_of(model).turns
    if turns.is_guest or (between_steps and not model._jax_state_synced and not turns.is_wanted):
        yield
        return
    release_state(model)
    with turns.given():
        yield
    model._jax_state_synced = True  # so that Keras reads the variables again


@contextmanager
def _metrics_kept(model: Any) -> Iterator[None]:
    """Leave the metrics, which a `fit` of another thread is summing up, as they were."""
    before = [(variable, variable.value) for variable in model.metrics_variables]
    try:
        yield
    finally:
        for variable, value in before:
            variable._value = value
