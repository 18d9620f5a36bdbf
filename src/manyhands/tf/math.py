"""tf.math: arithmetic on tensors, and the same names at the top of tf."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from keras import ops

from manyhands.engine.jax_inside import is_tracer
from manyhands.keras_bridge.function import NeedsValuesError
from manyhands.tf import corners
from manyhands.tf.dtypes import as_dtype, on_device
from manyhands.tf.keywords import takes
from manyhands.tf.segments import segment_sum, unsorted_segment_mean, unsorted_segment_sum
from manyhands.tf.tensor import Text, tensor

TopKV2 = namedtuple("TopKV2", ["values", "indices"])


def _one(function: Callable[[Any], Any], name: str) -> Any:
    def call(x: Any, name: str | None = None) -> Any:
        del name
        return function(tensor(x))

    call.__name__ = name
    return call


def _two(function: Callable[[Any, Any], Any], name: str) -> Any:
    def call(x: Any, y: Any, name: str | None = None) -> Any:
        del name
        return function(*_alike(x, y))

    call.__name__ = name
    return call


def _alike(x: Any, y: Any) -> tuple[Any, Any]:
    """Python's numbers take the dtype of the tensor beside them."""
    if isinstance(x, bool | int | float) and not isinstance(y, bool | int | float):
        return x, tensor(y)
    if isinstance(y, bool | int | float) and not isinstance(x, bool | int | float):
        return tensor(x), y
    return tensor(x), tensor(y)


def _equal(x: Any, y: Any) -> Any:
    return x == y if isinstance(x, Text) or isinstance(y, Text) else jnp.equal(x, y)


_ONE = {
    "abs": corners.absolute, "acos": jnp.arccos, "acosh": jnp.arccosh, "asin": jnp.arcsin,
    "asinh": jnp.arcsinh, "atan": jnp.arctan, "atanh": jnp.arctanh, "ceil": jnp.ceil,
    "conj": jnp.conj, "cos": jnp.cos, "cosh": jnp.cosh, "digamma": jax.scipy.special.digamma,
    "erf": jax.scipy.special.erf, "erfinv": jax.scipy.special.erfinv, "exp": jnp.exp,
    "expm1": jnp.expm1, "floor": jnp.floor, "imag": jnp.imag, "is_finite": jnp.isfinite,
    "is_inf": jnp.isinf, "is_nan": jnp.isnan, "lgamma": jax.scipy.special.gammaln, "log": jnp.log,
    "log1p": jnp.log1p, "log_sigmoid": jax.nn.log_sigmoid, "logical_not": jnp.logical_not,
    "negative": jnp.negative, "real": jnp.real, "reciprocal": jnp.reciprocal, "rint": jnp.rint,
    "round": jnp.round, "rsqrt": jax.lax.rsqrt, "sigmoid": jax.nn.sigmoid, "sign": jnp.sign,
    "sin": jnp.sin, "sinh": jnp.sinh, "softplus": jax.nn.softplus, "softsign": jax.nn.soft_sign,
    "sqrt": jnp.sqrt, "square": jnp.square, "tan": jnp.tan, "tanh": jnp.tanh,
    "zero_fraction": lambda x: jnp.mean((x == 0).astype("float32")), "angle": jnp.angle,
    "invert_permutation": jnp.argsort,
}  # fmt: skip
_TWO = {
    "add": jnp.add, "atan2": jnp.arctan2, "divide": jnp.divide, "truediv": jnp.divide,
    "equal": _equal, "floordiv": jnp.floor_divide, "floormod": jnp.mod, "mod": jnp.mod,
    "greater": jnp.greater, "greater_equal": jnp.greater_equal, "less": jnp.less,
    "less_equal": jnp.less_equal, "logical_and": jnp.logical_and, "logical_or": jnp.logical_or,
    "logical_xor": jnp.logical_xor, "maximum": corners.maximum, "minimum": corners.minimum,
    "multiply": jnp.multiply, "not_equal": lambda x, y: ~_equal(x, y), "pow": jnp.power,
    "squared_difference": lambda x, y: jnp.square(x - y), "subtract": jnp.subtract,
    "xlogy": corners.xlogy, "scalar_mul": jnp.multiply,
    "divide_no_nan": ops.divide_no_nan,
    "multiply_no_nan": corners.multiply_no_nan, "complex": jax.lax.complex,
}  # fmt: skip
globals().update({name: _one(function, name) for name, function in _ONE.items()})
globals().update({name: _two(function, name) for name, function in _TWO.items()})
_OTHER_WORDS = {
    "angle": {"input": "x"}, "imag": {"input": "x"}, "real": {"input": "x"},
    "softplus": {"features": "x"}, "softsign": {"features": "x"}, "zero_fraction": {"value": "x"},
    "scalar_mul": {"scalar": "x", "x": "y"}, "complex": {"real": "x", "imag": "y"},
}  # fmt: skip
globals().update({name: takes(**words)(globals()[name]) for name, words in _OTHER_WORDS.items()})


def _reduction(function: Callable[..., Any], name: str) -> Any:
    def call(
        input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
    ) -> Any:
        del name
        return function(tensor(input_tensor), axis=_axes(axis), keepdims=keepdims)

    call.__name__ = name
    return call


def _axes(axis: Any) -> Any:
    if axis is None or isinstance(axis, int):
        return axis
    axes = tuple(int(one) for one in np.ravel(np.asarray(axis)))
    return axes[0] if np.ndim(axis) == 0 else axes


_REDUCTIONS = {
    "reduce_all": jnp.all, "reduce_any": jnp.any, "reduce_max": jnp.max, "reduce_mean": jnp.mean,
    "reduce_min": jnp.min, "reduce_prod": jnp.prod, "reduce_sum": jnp.sum, "reduce_std": jnp.std,
    "reduce_variance": jnp.var, "reduce_logsumexp": jax.scipy.special.logsumexp,
    "reduce_euclidean_norm": jnp.linalg.norm,
}  # fmt: skip
globals().update({name: _reduction(function, name) for name, function in _REDUCTIONS.items()})


def argmax(input: Any, axis: Any = None, output_type: Any = "int64", name: Any = None) -> Any:
    """Where the greatest value is along an axis (the first, by default)."""
    del name
    return jnp.argmax(tensor(input), axis=0 if axis is None else int(axis)).astype(
        on_device(output_type)
    )


def argmin(input: Any, axis: Any = None, output_type: Any = "int64", name: Any = None) -> Any:
    """Where the least value is along an axis (the first, by default)."""
    del name
    return jnp.argmin(tensor(input), axis=0 if axis is None else int(axis)).astype(
        on_device(output_type)
    )


def add_n(inputs: Any, name: Any = None) -> Any:
    """Sum a list of tensors."""
    del name
    parts = [tensor(part) for part in (inputs if isinstance(inputs, list | tuple) else [inputs])]
    if not parts:
        raise ValueError("inputs must be an iterable of at least one Tensor with the same shape.")
    return sum(parts[1:], parts[0])


accumulate_n = add_n


def cumsum(
    x: Any, axis: int = 0, exclusive: bool = False, reverse: bool = False, name: Any = None
) -> Any:
    """Sum up along an axis."""
    del name
    return _cumulative(jnp.cumsum, tensor(x), axis, exclusive, reverse, 0)


def cumprod(
    x: Any, axis: int = 0, exclusive: bool = False, reverse: bool = False, name: Any = None
) -> Any:
    """Multiply up along an axis."""
    del name
    return _cumulative(corners.cumprod, tensor(x), axis, exclusive, reverse, 1)


def _cumulative(
    function: Any, x: Any, axis: int, exclusive: bool, reverse: bool, start: int
) -> Any:
    x = jnp.flip(x, axis) if reverse else x
    if exclusive:
        first = jnp.full_like(jax.lax.slice_in_dim(x, 0, min(1, x.shape[axis]), axis=axis), start)
        x = jnp.concatenate([first, x], axis)[_all_but_last(x.ndim, axis)]
    found = function(x, axis=axis)
    return jnp.flip(found, axis) if reverse else found


def _all_but_last(ndim: int, axis: int) -> Any:
    return tuple(slice(-1) if dim == axis % ndim else slice(None) for dim in range(ndim))


def count_nonzero(
    input: Any, axis: Any = None, keepdims: bool = False, dtype: Any = "int64", name: Any = None
) -> Any:
    """Count what is not zero."""
    del name
    found = jnp.count_nonzero(tensor(input), axis=_axes(axis), keepdims=keepdims)
    return found.astype(on_device(dtype))


def l2_normalize(x: Any, axis: Any = None, epsilon: float = 1e-12, name: Any = None) -> Any:
    """Scale to length one."""
    del name
    x = tensor(x)
    squares = jnp.sum(jnp.square(x), axis=_axes(axis), keepdims=True)
    return x * jax.lax.rsqrt(jnp.maximum(squares, epsilon))


def softmax(logits: Any, axis: int = -1, name: Any = None) -> Any:
    """Turn logits into probabilities."""
    del name
    return jax.nn.softmax(tensor(logits), axis=axis if axis is not None else -1)


def log_softmax(logits: Any, axis: int = -1, name: Any = None) -> Any:
    """Turn logits into logarithms of probabilities."""
    del name
    return jax.nn.log_softmax(tensor(logits), axis=axis if axis is not None else -1)


def top_k(
    input: Any, k: int = 1, sorted: bool = True, index_type: Any = "int32", name: Any = None
) -> TopKV2:
    """Find the greatest values of the last axis and where they are."""
    del name, sorted
    values, places = jax.lax.top_k(tensor(input), int(k))
    return TopKV2(values, places.astype(on_device(index_type)))


def in_top_k(targets: Any, predictions: Any, k: int, name: Any = None) -> Any:
    """Whether each target is among the k greatest predictions."""
    del name
    return ops.in_top_k(tensor(targets), tensor(predictions), k)


def bincount(
    arr: Any,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: Any = "int32",
    name: Any = None,
) -> Any:
    """Count how often each number occurs, up to `maxlength` of them."""
    del name
    numbers = tensor(arr).ravel()
    if is_tracer(numbers):
        raise NeedsValuesError("tf.math.bincount gives as many counts as the greatest number")
    length = max(int(numbers.max()) + 1 if numbers.size else 0, minlength or 0)
    length = length if maxlength is None else min(length, int(maxlength))
    found = jnp.bincount(numbers, weights, length=length)
    return found if weights is not None else found.astype(on_device(dtype))


def confusion_matrix(
    labels: Any,
    predictions: Any,
    num_classes: Any = None,
    weights: Any = None,
    dtype: Any = "int32",
    name: Any = None,
) -> Any:
    """Count predictions by what they should have been: one row a label."""
    del name
    labels, predictions = tensor(labels).ravel(), tensor(predictions).ravel()
    count = (
        int(num_classes)
        if num_classes is not None
        else int(max(labels.max(), predictions.max())) + 1
    )
    weights = jnp.ones(labels.shape, on_device(dtype)) if weights is None else tensor(weights)
    return jnp.zeros((count, count), on_device(dtype)).at[labels, predictions].add(weights)


def saturate_cast(value: Any, dtype: Any, name: Any = None) -> Any:
    """Give the same numbers in another dtype; what it cannot hold becomes its least or greatest."""
    del name
    value = tensor(value)
    have, want = as_dtype(value.dtype), as_dtype(dtype)
    if want.is_floating and not have.is_floating:
        return value.astype(on_device(want))
    low, high = max(have.min, want.min), min(have.max, want.max)
    return jnp.clip(value, low, high).astype(on_device(want))


def histogram_fixed_width(
    values: Any, value_range: Any, nbins: int = 100, dtype: Any = "int32", name: Any = None
) -> Any:
    """Count values in bins of one width; those outside of the range in the first and last."""
    del name
    values, (low, high) = tensor(values), tensor(value_range).astype("float32")
    place = jnp.floor((values - low) / (high - low) * nbins).astype("int32")
    found = jnp.bincount(jnp.clip(place, 0, nbins - 1).ravel(), length=int(nbins))
    return found.astype(on_device(dtype))


def polyval(coeffs: Any, x: Any, name: Any = None) -> Any:
    """Evaluate a polynomial."""
    del name
    return jnp.polyval(jnp.stack([tensor(c) for c in coeffs]), tensor(x))


__all__ = ["segment_sum", "unsorted_segment_mean", "unsorted_segment_sum"]
