"""The error for TensorFlow's names that are not here, and what it says to use."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from manyhands.tf.instead import NAMES, NAMESPACES, PARTS


def instead_of(name: str) -> str:
    """Say what to use instead of a name such as "tf.lookup.StaticHashTable"."""
    plain = name.removeprefix("tf.")
    newer = plain.removeprefix("compat.v1.").removeprefix("compat.v2.")
    newer = newer.replace("layers.experimental.preprocessing.", "layers.")
    parts = newer.split(".")
    if newer in NAMES:
        return NAMES[newer]
    if newer.startswith("data.experimental.") and _is_method_of_datasets(parts[-1]):
        return f"the method Dataset.{parts[-1]}"
    if newer.startswith("train.") and newer.endswith("Optimizer"):
        return "keras.optimizers"
    for part in parts:
        if part in PARTS:
            return PARTS[part]
    if parts[0] in NAMESPACES:
        return NAMESPACES[parts[0]]
    if plain != newer:
        return NAMESPACES["compat"]
    return _alike(parts[-1]) or "keras.ops or jax.numpy; what tf has here is in docs/migration.md"


def needs_tensorflow(name: str) -> bool:
    """Whether it is one of Keras' layers that only run beside TensorFlow itself."""
    return name.startswith("tf.keras.layers.") and name.removeprefix("tf.") in NAMES


def _is_method_of_datasets(name: str) -> bool:
    from manyhands.data.dataset import Dataset

    return hasattr(Dataset, name)


def _alike(name: str) -> str | None:
    import jax.numpy
    import keras

    if hasattr(keras.ops, name):
        return f"keras.ops.{name}"
    if hasattr(jax.numpy, name):
        return f"jax.numpy.{name}"
    return None


def missing(name: str) -> AttributeError:
    """Make the error for a name that is not here."""
    return AttributeError(f"{name} is not in manyhands.tf.\n  use: {instead_of(name)}")


class Names(SimpleNamespace):
    """A small namespace; a name that is not in it says what to use."""

    def __init__(self, namespace: str, /, **names: Any) -> None:
        super().__init__(**names)
        self._namespace = namespace

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise missing(f"{self._namespace}.{name}")
