"""tf.nest: structures of values."""

from __future__ import annotations

from typing import Any

import keras


def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """List the values."""
    del expand_composites
    return keras.tree.flatten(structure)


def map_structure(func: Any, *structure: Any, **_: Any) -> Any:
    """Call a function on the values."""
    return keras.tree.map_structure(func, *structure)


def pack_sequence_as(structure: Any, flat_sequence: Any, expand_composites: bool = False) -> Any:
    """Put values into a structure."""
    del expand_composites
    return keras.tree.pack_sequence_as(structure, flat_sequence)


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True, **_: Any) -> None:
    """Check that two structures are alike."""
    del check_types
    keras.tree.assert_same_structure(nest1, nest2)


def is_nested(structure: Any) -> bool:
    """Whether there are values inside."""
    return isinstance(structure, list | tuple | dict)
