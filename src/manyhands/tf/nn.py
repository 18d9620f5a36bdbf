"""tf.nn: activations, losses and layers as functions."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from keras import ops

from manyhands.strategies import get_strategy
from manyhands.tf import corners
from manyhands.tf.keywords import takes
from manyhands.tf.known_shapes import as_dims
from manyhands.tf.math import (
    _axes,
    in_top_k,
    l2_normalize,
    log_softmax,
    softmax,
    top_k,
)
from manyhands.tf.math import _one as _activation
from manyhands.tf.random import key
from manyhands.tf.tensor import tensor

_ACTIVATIONS = {
    "relu": jax.nn.relu, "relu6": jax.nn.relu6, "elu": corners.elu, "selu": corners.selu,
    "softplus": jax.nn.softplus, "softsign": jax.nn.soft_sign,
}  # fmt: skip
_features = takes(features="x")
globals().update(
    {name: _features(_activation(function, name)) for name, function in _ACTIVATIONS.items()}
)
sigmoid = _activation(jax.nn.sigmoid, "sigmoid")
tanh = _activation(jnp.tanh, "tanh")
log_sigmoid = _activation(jax.nn.log_sigmoid, "log_sigmoid")


def crelu(features: Any, axis: int = -1, name: Any = None) -> Any:
    """What is above zero, and beside it what is below."""
    del name
    x = tensor(features)
    return jnp.concatenate([jax.nn.relu(x), jax.nn.relu(-x)], axis)


def leaky_relu(features: Any, alpha: float = 0.2, name: Any = None) -> Any:
    """A small slope below zero."""
    del name
    return corners.leaky_relu(tensor(features), alpha)


def gelu(features: Any, approximate: bool = False, name: Any = None) -> Any:
    """Gaussian error linear unit."""
    del name
    return jax.nn.gelu(tensor(features), approximate=approximate)


def silu(features: Any, beta: float = 1.0) -> Any:
    """x times its sigmoid."""
    x = tensor(features)
    return x * jax.nn.sigmoid(beta * x)


swish = silu


def dropout(
    x: Any, rate: float, noise_shape: Any = None, seed: Any = None, name: Any = None
) -> Any:
    """Drop elements at random, and scale up the rest."""
    del name
    x = tensor(x)
    if isinstance(rate, int | float) and rate == 0:
        return x
    shape = (
        x.shape
        if noise_shape is None
        else tuple(
            dim if one is None else int(one) for one, dim in zip(noise_shape, x.shape, strict=True)
        )
    )
    keep = jax.random.bernoulli(key(seed), 1 - rate, shape)
    return jnp.where(keep, x / (1 - rate), jnp.zeros_like(x))


def moments(x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: Any = None) -> Any:
    """Mean and variance."""
    del name, shift
    x = tensor(x)
    axes = _axes(axes)
    return jnp.mean(x, axes, keepdims=keepdims), jnp.var(x, axes, keepdims=keepdims)


def batch_normalization(
    x: Any,
    mean: Any,
    variance: Any,
    offset: Any,
    scale: Any,
    variance_epsilon: float,
    name: Any = None,
) -> Any:
    """Shift and scale to mean zero and variance one."""
    del name
    factor = jax.lax.rsqrt(tensor(variance) + variance_epsilon)
    factor = factor if scale is None else factor * tensor(scale)
    shifted = (tensor(x) - tensor(mean)) * factor
    return shifted if offset is None else shifted + tensor(offset)


def l2_loss(t: Any, name: Any = None) -> Any:
    """Half the sum of squares."""
    del name
    return jnp.sum(jnp.square(tensor(t))) / 2


def bias_add(value: Any, bias: Any, data_format: Any = None, name: Any = None) -> Any:
    """Add one number a channel."""
    del name
    value, bias = tensor(value), tensor(bias)
    if data_format and data_format.startswith("NC"):
        bias = bias.reshape(1, -1, *[1] * (value.ndim - 2))
    return value + bias


def local_response_normalization(
    input: Any,
    depth_radius: int = 5,
    bias: float = 1.0,
    alpha: float = 1.0,
    beta: float = 0.5,
    name: Any = None,
) -> Any:
    """Scale each value down by the squares of its neighbours in the last dim."""
    del name
    x = tensor(input)
    width = 2 * int(depth_radius) + 1
    sides = [(0, 0)] * (x.ndim - 1) + [(depth_radius, depth_radius)]
    window = (1,) * (x.ndim - 1) + (width,)
    squares = jax.lax.reduce_window(x * x, 0.0, jax.lax.add, window, (1,) * x.ndim, sides)
    return x * (bias + alpha * squares) ** -beta


lrn = local_response_normalization


def embedding_lookup(params: Any, ids: Any, max_norm: Any = None, name: Any = None) -> Any:
    """Pick rows of a table."""
    del name
    rows = jnp.take(tensor(params), tensor(ids), axis=0)
    if max_norm is None:
        return rows
    length = jnp.linalg.norm(rows, axis=-1, keepdims=True)
    return rows * jnp.minimum(1.0, max_norm / jnp.maximum(length, 1e-12))


def _channels(data_format: Any) -> str:
    return (
        "channels_first" if data_format and str(data_format).startswith("NC") else "channels_last"
    )


def _spatial(value: Any, data_format: Any) -> Any:
    """Take TensorFlow's sizes of images: of both dims, of each, or of batch and channels, too."""
    if isinstance(value, int):
        return value
    value = [int(one) for one in value]
    if len(value) == 4:
        value = value[2:] if _channels(data_format) == "channels_first" else value[1:-1]
    return tuple(value) if len(value) > 1 else value[0]


def _moved(strides: Any, padding: str, data_format: Any) -> dict[str, Any]:
    """How a window moves over images, in Keras' words."""
    return {
        "strides": _spatial(strides, data_format),
        "padding": padding.lower(),
        "data_format": _channels(data_format),
    }


def conv2d(
    input: Any,
    filters: Any,
    strides: Any,
    padding: str,
    data_format: Any = "NHWC",
    dilations: Any = 1,
    name: Any = None,
) -> Any:
    """Convolve images."""
    del name
    moved = _moved(strides, padding, data_format)
    dilated = _spatial(dilations or 1, data_format)
    return ops.conv(tensor(input), tensor(filters), dilation_rate=dilated, **moved)


def depthwise_conv2d(
    input: Any,
    filter: Any,
    strides: Any,
    padding: str,
    data_format: Any = "NHWC",
    dilations: Any = 1,
    name: Any = None,
) -> Any:
    """Convolve each channel by itself."""
    del name
    moved = _moved(strides, padding, data_format)
    dilated = _spatial(dilations or 1, data_format)
    return ops.depthwise_conv(tensor(input), tensor(filter), dilation_rate=dilated, **moved)


def conv2d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: str = "SAME",
    data_format: Any = "NHWC",
    dilations: Any = 1,
    name: Any = None,
) -> Any:
    """Convolve the other way: what `conv2d` of an image of `output_shape` is differentiated to."""
    del name
    input, filters = tensor(input), tensor(filters)
    image = jax.ShapeDtypeStruct(as_dims(output_shape), input.dtype)
    back = jax.linear_transpose(
        lambda given: conv2d(given, filters, strides, padding, data_format, dilations), image
    )
    return back(input)[0]


def max_pool2d(
    input: Any, ksize: Any, strides: Any, padding: str, data_format: Any = "NHWC", name: Any = None
) -> Any:
    """The greatest value of each window."""
    del name
    moved = _moved(strides, padding, data_format)
    return ops.max_pool(tensor(input), _spatial(ksize, data_format), **moved)


def avg_pool2d(
    input: Any, ksize: Any, strides: Any, padding: str, data_format: Any = "NHWC", name: Any = None
) -> Any:
    """The mean of each window."""
    del name
    moved = _moved(strides, padding, data_format)
    return ops.average_pool(tensor(input), _spatial(ksize, data_format), **moved)


max_pool, avg_pool = max_pool2d, avg_pool2d


def sparse_softmax_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, name: Any = None
) -> Any:
    """How surprised logits are by a class, one value a row."""
    del name
    logs = jax.nn.log_softmax(tensor(logits), -1)
    return -jnp.take_along_axis(logs, tensor(labels)[..., None].astype("int32"), -1)[..., 0]


def softmax_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, axis: int = -1, name: Any = None
) -> Any:
    """How surprised logits are by probabilities, one value a row."""
    del name
    logits = tensor(logits)
    return -jnp.sum(tensor(labels).astype(logits.dtype) * jax.nn.log_softmax(logits, axis), axis)


def sigmoid_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, name: Any = None
) -> Any:
    """How surprised logits are by yes and no, one value each."""
    del name
    x = tensor(logits)
    z = tensor(labels).astype(x.dtype)
    return jnp.maximum(x, 0) - x * z + jnp.log1p(jnp.exp(-jnp.abs(x)))


def weighted_cross_entropy_with_logits(
    labels: Any, logits: Any, pos_weight: Any, name: Any = None
) -> Any:
    """The same, with another weight for yes."""
    del name
    x = tensor(logits)
    z = tensor(labels).astype(x.dtype)
    weight = 1 + (pos_weight - 1) * z
    return (1 - z) * x + weight * (jnp.log1p(jnp.exp(-jnp.abs(x))) + jnp.maximum(-x, 0))


def log_poisson_loss(
    targets: Any, log_input: Any, compute_full_loss: bool = False, name: Any = None
) -> Any:
    """How surprised a logarithm of a rate is by counts, one value each."""
    del name
    logs = tensor(log_input)
    counts = tensor(targets).astype(logs.dtype)
    found = jnp.exp(logs) - logs * counts
    if not compute_full_loss:
        return found
    few = (counts >= 0) & (counts <= 1)  # Stirling's formula is of no use there
    many = jnp.where(few, 1, counts)
    more = many * jnp.log(many) - many + 0.5 * jnp.log(2 * jnp.pi * many)
    return found + jnp.where(few, 0, more)


def compute_average_loss(
    per_example_loss: Any, sample_weight: Any = None, global_batch_size: Any = None
) -> Any:
    """Average over the global batch: the sum of the losses, over its size."""
    losses = tensor(per_example_loss)
    if sample_weight is not None:
        losses = losses * tensor(sample_weight).astype(losses.dtype)
    if global_batch_size is None:
        global_batch_size = (losses.shape[0] if losses.ndim else 1) * _replicas()
    return jnp.sum(losses) / jnp.asarray(global_batch_size, losses.dtype)


def scale_regularization_loss(regularization_loss: Any) -> Any:
    """Share the regularisation among those who will sum it; a step that sees everything is one."""
    return jnp.sum(tensor(regularization_loss)) / _replicas()


def _replicas() -> int:
    strategy = get_strategy()
    return 1 if strategy is None else strategy.num_replicas_in_sync


def zero_fraction(value: Any, name: Any = None) -> Any:
    """Which part is zero."""
    del name
    return jnp.mean((tensor(value) == 0).astype("float32"))


def _last(x: Any, data_format: str) -> Any:
    return x.transpose(0, 2, 3, 1) if data_format.startswith("NC") else x


def _as_it_came(x: Any, data_format: str) -> Any:
    return x.transpose(0, 3, 1, 2) if data_format.startswith("NC") else x


def depth_to_space(input: Any, block_size: int, data_format: str = "NHWC", name: Any = None) -> Any:
    """Lay channels out as pixels."""
    del name
    x = _last(tensor(input), data_format)
    n, h, w, c = x.shape
    x = x.reshape(n, h, w, block_size, block_size, c // block_size**2)
    found = x.transpose(0, 1, 3, 2, 4, 5).reshape(n, h * block_size, w * block_size, -1)
    return _as_it_came(found, data_format)


def space_to_depth(input: Any, block_size: int, data_format: str = "NHWC", name: Any = None) -> Any:
    """Lay pixels out as channels."""
    del name
    x = _last(tensor(input), data_format)
    n, h, w, c = x.shape
    x = x.reshape(n, h // block_size, block_size, w // block_size, block_size, c)
    found = x.transpose(0, 1, 3, 2, 4, 5).reshape(n, h // block_size, w // block_size, -1)
    return _as_it_came(found, data_format)


def normalize_moments(
    counts: Any, mean_ss: Any, variance_ss: Any, shift: Any, name: Any = None
) -> Any:
    """Mean and variance from sums."""
    del name
    mean = tensor(mean_ss) / tensor(counts)
    shifted = mean if shift is None else mean + tensor(shift)
    return shifted, tensor(variance_ss) / tensor(counts) - jnp.square(mean)


__all__ = ["in_top_k", "l2_normalize", "log_softmax", "softmax", "top_k"]
