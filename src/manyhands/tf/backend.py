"""tf.keras.backend: the few of Keras' old functions that ask a tensor for TensorFlow's dtype."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import jax
import jax.numpy as jnp
import keras

from manyhands.tf.tensor import tensor


def _numbers(x: Any) -> Any:
    x = tensor(x)
    return x.astype(keras.config.floatx()) if x.dtype == bool else x


def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The mean."""
    return jnp.mean(_numbers(x), axis=axis, keepdims=keepdims)


def std(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The standard deviation."""
    return jnp.std(_numbers(x), axis=axis, keepdims=keepdims)


def var(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The variance."""
    return jnp.var(_numbers(x), axis=axis, keepdims=keepdims)


def dtype(x: Any) -> str:
    """The dtype's name."""
    return str(tensor(x).dtype)


def set_value(x: Any, value: Any) -> None:
    """Change a variable."""
    x.assign(value)


def install() -> None:
    """Put them where programs look for them."""
    home = importlib.import_module("keras._tf_keras.keras.backend")
    for function in (mean, std, var, dtype, set_value):
        setattr(home, function.__name__, function)
    _let_floatx_be_float64(home)


def _let_floatx_be_float64(home: Any) -> None:
    """Switch JAX to 64 bits with Keras: it would round to 32 without a word."""
    original = keras.config.set_floatx

    @functools.wraps(original)
    def set_floatx(value: str) -> None:
        if value == "float64":
            jax.config.update("jax_enable_x64", True)
        original(value)

    for place in (home, keras.backend, keras.config):
        setattr(place, "set_floatx", set_floatx)  # noqa: B010
