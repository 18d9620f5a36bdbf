"""From objects to files.

In: an object and a path.  Out: a Snapshot, whose values are copies that no later step can touch;
then the files at that path, complete or not there at all.
The copy is all that the program waits for.  On a GPU with room for it the copy stays there until
it is written, which takes a thousandth of the time; elsewhere it is made on the host.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from manyhands.checkpoint.array_store import write_arrays
from manyhands.checkpoint.disk import appearing
from manyhands.checkpoint.errors import CheckpointError, NotTrackableError
from manyhands.checkpoint.graph import Found, walk, without_empty
from manyhands.checkpoint.manifest import ARRAYS, ArraySpec, Node, write_manifest
from manyhands.checkpoint.proof import remember
from manyhands.checkpoint.state_json import encode
from manyhands.engine.launches import launching
from manyhands.errors import explain
from manyhands.keras_bridge.creation import is_given_away, is_tracing, peek, sync_model
from manyhands.keras_bridge.taking_turns import turns_of_all


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All values of a graph at one moment."""

    nodes: tuple[Node, ...]
    arrays: dict[str, Any]
    """NumPy arrays, or arrays on a device that nobody else holds."""


def refuse_in_trace(what: str) -> None:
    """Say so when a checkpoint is wanted inside a compiled step."""
    if is_tracing():
        raise CheckpointError(
            explain(
                f"{what} was called inside a compiled step.",
                got="a function that is being traced: its variables have no values yet",
                fix="call it in the loop around strategy.run or the tf.function.",
            )
        )


def refuse_given_away(key: str, variable: Any) -> None:
    """Say so when `fit` holds the value of a variable, and its model is not in the checkpoint."""
    if is_given_away(variable):
        raise CheckpointError(
            explain(
                "Keras' fit holds the value of a variable while it runs.",
                got=f"{key}, in a checkpoint without its model",
                fix="give the Checkpoint the model as well: Checkpoint(model=model, ...).",
            )
        )


def snapshot(root: Any, *also: Any) -> Snapshot:
    """Copy the values of everything below an object to the host."""
    refuse_in_trace("Saving a checkpoint")
    found = without_empty(walk(root, *also))
    things = [*also, *(node.thing for node in found)]
    with turns_of_all(things):  # no thread's call uses up what is being copied
        for thing in things:
            sync_model(thing)
        for node in found:
            if node.kind == "variable":
                refuse_given_away(node.key, node.thing)
        with launching:
            variables = {node.key: peek(node.thing) for node in found if node.kind == "variable"}
            arrays = _copies({key: value for key, value in variables.items() if value is not None})
    return Snapshot(tuple(_node(node, arrays) for node in found), arrays)


def _copies(values: dict[str, Any]) -> dict[str, Any]:
    for key, value in values.items():
        if isinstance(value, Tracer):
            raise _never_computed(key)
    on_device = [value for value in values.values() if _is_on_gpu(value)]
    if on_device and _has_room(on_device):
        return {k: v.copy() if _is_on_gpu(v) else _copy(v) for k, v in values.items()}
    for value in on_device:
        value.copy_to_host_async()
    return {key: _copy(value) for key, value in values.items()}


def _is_on_gpu(value: Any) -> bool:
    return isinstance(value, jax.Array) and all(d.platform != "cpu" for d in value.devices())


def _has_room(values: list[jax.Array]) -> bool:
    """Whether a second copy takes less than half of what is free on each device."""
    wanted = sum(value.nbytes for value in values)
    for device in values[0].devices():
        stats = device.memory_stats() or {}
        free = stats.get("bytes_limit", 0) - stats.get("bytes_in_use", 0)
        if 2 * wanted > free:
            return False
    return True


def _never_computed(key: str) -> CheckpointError:
    return CheckpointError(
        explain(
            "A variable holds a value of a function that JAX was tracing.",
            got=key,
            fix="assign to variables only in steps that run through strategy.run or fit.",
        )
    )


def _copy(value: Any) -> np.ndarray:
    """Take a value to the host; what already is there is copied, for the next step may reuse it."""
    host = np.asarray(value)
    on_host = not isinstance(value, jax.Array) or any(d.platform == "cpu" for d in value.devices())
    return host.copy() if on_host else host


def _node(node: Found, arrays: dict[str, np.ndarray]) -> Node:
    if node.kind == "state":
        state, aside = _state(node)
        arrays.update(aside)
        specs = {key: _spec(array) for key, array in aside.items()}
        return Node(key=node.key, state=state, has_state=True, aside=specs)
    array = arrays.get(node.key)
    if node.kind == "variable" and array is not None:
        return Node(key=node.key, array=_spec(array))
    return Node(key=node.key, children=node.children)


def _spec(array: Any) -> ArraySpec:
    return ArraySpec(array.shape, str(array.dtype))


def _state(node: Found) -> tuple[Any, dict[str, np.ndarray]]:
    """Read an object's state: as JSON, and the large arrays beside it."""
    thing, aside = node.thing, {}
    random = isinstance(thing, np.random.Generator)
    state = thing.bit_generator.state if random else thing.get_state()
    try:
        return encode(state, aside, node.key), aside
    except TypeError as error:
        raise NotTrackableError(
            explain(
                "The state of an object cannot be written as plain data.",
                got=f"{node.key}: {type(thing).__name__}.get_state() holds something else: {error}",
                fix="let get_state() return numbers, strings, bytes, arrays, lists and dicts.",
            )
        ) from error


def write(path: Path, taken: Snapshot) -> None:
    """Write a snapshot to a path, where it appears when all of it is on the disk."""
    with appearing(path) as directory:
        arrays = {key: np.asarray(array) for key, array in taken.arrays.items()}
        write_arrays(directory.absolute() / ARRAYS, arrays)
        write_manifest(directory, taken.nodes)
    remember(path)
