"""Functions with a corner, whose gradient there is TensorFlow's.

In: tensors.  Out: the values that JAX gives; where two sides meet, the slope of TensorFlow's side.
Keras' own layers and losses do not come by here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


def absolute(x: Any) -> Any:
    """The absolute value; flat at zero."""
    return _absolute(x) if jnp.issubdtype(x.dtype, jnp.floating) else jnp.abs(x)


@jax.custom_jvp
def _absolute(x: Any) -> Any:
    return jnp.abs(x)


@_absolute.defjvp
def _(primals: Any, tangents: Any) -> Any:
    (x,), (slope,) = primals, tangents
    return _absolute(x), jnp.sign(x) * slope


def _of_two(name: str, choose: Callable[[Any, Any], Any], is_first: Callable[..., Any]) -> Any:
    @jax.custom_jvp
    def chosen(x: Any, y: Any) -> Any:
        return choose(x, y)

    @chosen.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        return chosen(*primals), jnp.where(is_first(*primals), *tangents)

    def call(x: Any, y: Any) -> Any:
        kind = jnp.result_type(x, y)
        if not jnp.issubdtype(kind, jnp.floating):
            return choose(x, y)
        shape = jnp.broadcast_shapes(jnp.shape(x), jnp.shape(y))
        return chosen(*(jnp.broadcast_to(jnp.asarray(one, kind), shape) for one in (x, y)))

    call.__name__ = name
    return call


maximum = _of_two("maximum", jnp.maximum, jnp.greater_equal)
minimum = _of_two("minimum", jnp.minimum, jnp.less_equal)


def clip(x: Any, low: Any, high: Any) -> Any:
    """Keep values between bounds; what lies on one counts as inside."""
    return minimum(maximum(x, low), high)


def leaky_relu(x: Any, alpha: Any) -> Any:
    """A small slope below zero, and at it."""
    return jnp.where(x > 0, x, alpha * x)


def elu(x: Any) -> Any:
    """Exponential below zero."""
    return jnp.where(x < 0, jnp.expm1(jnp.where(x < 0, x, 0)), x)


def selu(x: Any) -> Any:
    """Exponential below zero, scaled."""
    return _SELU_SCALE * jnp.where(x < 0, _SELU_ALPHA * jnp.expm1(jnp.where(x < 0, x, 0)), x)


def xlogy(x: Any, y: Any) -> Any:
    """x log y, and zero for every y where x is."""
    return x * jnp.log(jnp.where(x == 0, 1, y))


@jax.custom_jvp
def _multiply_no_nan(x: Any, y: Any) -> Any:
    return jnp.where(y == 0, jnp.zeros_like(x), x * y)


@_multiply_no_nan.defjvp
def _(primals: Any, tangents: Any) -> Any:
    (x, y), (x_slope, y_slope) = primals, tangents
    return _multiply_no_nan(x, y), _multiply_no_nan(x_slope, y) + x * y_slope


def multiply_no_nan(x: Any, y: Any) -> Any:
    """The product, and zero for every x where y is."""
    return _multiply_no_nan(*jnp.broadcast_arrays(x, y))


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def _cumprod(x: Any, axis: int) -> Any:
    return jnp.cumprod(x, axis=axis)


@_cumprod.defjvp
def _(axis: int, primals: Any, tangents: Any) -> Any:
    (x,), (slope,) = primals, tangents
    given = _cumprod(x, axis)
    share = jnp.where(x == 0, 0, slope / jnp.where(x == 0, 1, x))
    return given, given * jnp.cumsum(share, axis=axis)


def cumprod(x: Any, axis: int) -> Any:
    """Multiply up along an axis; TensorFlow lets no gradient through a zero."""
    return _cumprod(x, axis) if jnp.issubdtype(x.dtype, jnp.floating) else jnp.cumprod(x, axis=axis)
