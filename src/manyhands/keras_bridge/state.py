"""The state of a model while Keras' loops run: never half, never emptied.

In: a model's variables.  Out: their arrays for a step, and back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, TypeAlias

from manyhands.engine.placing import to_give_away
from manyhands.engine.step import State
from manyhands.keras_bridge.roles import STATE_PARTS, Role
from manyhands.keras_bridge.session import session_of

Parts: TypeAlias = tuple[list[Any], ...]
"""The arrays of a state in the lists that Keras' steps know."""


def get_state(model: Any, role: Role) -> State:
    """Read the arrays of a model's variables for this role's step."""
    return [v.value for part in STATE_PARTS[role] for v in variables_of(model, part, role)]


def nested(model: Any, role: Role, state: State) -> Parts:
    """Give a state in Keras' lists."""
    arrays = iter(state)
    sizes = [len(variables_of(model, part, role)) for part in STATE_PARTS[role]]
    return tuple(list(islice(arrays, size)) for size in sizes)


class StatePart:
    """One list of a state, in a shape that Keras does not look into.

    Keras tracks every list and dict that is set on a model, element by element, and its loops set
    the state after each step.
    """

    __slots__ = ("_local", "arrays", "role")

    def __init__(self, arrays: list[Any], local: Callable[[Any], Any], role: Role) -> None:
        self.arrays = arrays
        self.role: Role = role
        self._local = local

    def __iter__(self) -> Iterator[Any]:
        return map(self._local, self.arrays)

    def __len__(self) -> int:
        return len(self.arrays)


_HOLDERS = 3
"""A value is held by its variable, by Keras' state, and by the state that goes to the program."""


def own_state(state: Any) -> State:
    """Give a state that the step may use up: what anybody else holds is copied.

    After an EMA overwrite, for one, the weights and their averages are the same arrays.
    """
    return [array for part in state for array in to_give_away(list(part), _HOLDERS)]


def hold_state(
    model: Any, role: Role, state: State, local: Callable[[Any], Any]
) -> tuple[StatePart, ...]:
    """Make this the model's latest state, which `release_state` writes to the variables.

    `local` gives a program's array as Python holds it.
    """
    parts = tuple(StatePart(arrays, local, role) for arrays in nested(model, role, state))
    object.__setattr__(model, "_jax_state", dict(zip(STATE_PARTS[role], parts, strict=True)))
    object.__setattr__(model, "_jax_state_synced", False)
    return parts


def release_state(model: Any) -> None:
    """Write the latest state back to the variables."""
    held = getattr(model, "_jax_state", None)
    if not held or model._jax_state_synced:
        return
    for part, values in held.items():
        variables = variables_of(model, part, values.role)
        for variable, value in zip(variables, values, strict=True):
            if value.dtype == variable.dtype and value.shape == variable.shape:
                variable._value = value
            else:
                variable.assign(value)  # casts, or says what does not fit
    model._jax_state_synced = True


def variables_of(model: Any, part: str, role: Role) -> list[Any]:
    """List the variables of one part of a model's state, for this role's step."""
    own = own_variables(model, part)
    return [*own, *other_variables(model, role)] if part == "non_trainable_variables" else own


def own_variables(model: Any, part: str) -> list[Any]:
    """List the variables that Keras counts to one part of a model's state."""
    if part == "optimizer_variables":
        return [] if model.optimizer is None else model.optimizer.variables
    return getattr(model, part)


def other_variables(model: Any, role: Role) -> list[Any]:
    """List what a model's own step touches besides the variables that Keras lists."""
    return session_of(model).others.get(role, [])


def set_other_variables(model: Any, role: Role, variables: Iterable[Any]) -> None:
    """Make these part of a role's state, beside the variables that do not train."""
    session_of(model).others[role] = list(variables)


def begin_at_epoch(model: Any, epoch: int) -> None:
    """Let a `fit` that has just begun start at this epoch."""
    model._initial_epoch = epoch
    session_of(model).begun_later = True


def forget_first_epoch(model: Any) -> None:
    """Let the next `fit` begin where it says; Keras would go on beginning later."""
    session = session_of(model)
    if session.begun_later:
        model._initial_epoch = None
        session.begun_later = False
