"""Every operation of keras.ops and jax.lax, as a function of rows: what XLA must be able to split.

Arguments are found by trying: most operations take one array, or two. What needs more is listed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np
from jax import lax
from keras import ops

ROWS = 7
_RNG = np.random.default_rng(0)
X = _RNG.normal(size=(ROWS, 6))
SQUARES = _RNG.normal(size=(ROWS, 5, 5)) * 0.3 + 3 * np.eye(5)
IMAGES = _RNG.normal(size=(ROWS, 8, 8, 3))
IDS = _RNG.integers(0, 5, size=ROWS)
WIDE = _RNG.integers(0, 6, size=(ROWS, 6))
KERNEL = _RNG.normal(size=(3, 3, 3, 2))
DEPTH = _RNG.normal(size=(3, 3, 3, 1))
POINT = _RNG.normal(size=(1, 1, 3, 2))

Function = Callable[[Any], Any]


def _image_points(x):
    grid = jnp.meshgrid(
        jnp.arange(ROWS) * 1.0, jnp.arange(4) * 1.5, jnp.arange(4) * 1.5, indexing="ij"
    )
    return ops.image.map_coordinates(x[..., 0], jnp.stack(grid), 1)


GIVEN: dict[str, tuple[Any, Function]] = {
    # what the derivative of makes indices that are not int32
    "sorted rows": (X, lambda x: ops.sort(x, axis=0) * jnp.arange(6.0)),
    "sorted features": (X, lambda x: ops.sort(x, axis=1) * jnp.arange(6.0)),
    "sorted pairs": (X, lambda x: lax.sort([x, x * 3], dimension=0)[1] * jnp.arange(6.0)),
    "nanmedian": (X, lambda x: jnp.nanmedian(x, axis=0)),
    "percentile": (X, lambda x: jnp.percentile(x, 30, axis=1)),
    "shuffled": (X, lambda x: keras.random.shuffle(x, seed=1) * jnp.arange(ROWS)[:, None]),
    "hardest": (X, lambda x: jnp.sort(jnp.sum((x[:, None] - x[None]) ** 2, -1), axis=1)[:, 1]),
    "mean of the largest": (X, lambda x: jnp.mean(jnp.sort(jnp.sum(x**2, 1))[-3:])),
    "sorted in a map": (X, lambda x: jax.vmap(lambda r: jnp.sort(r) * r)(x)),
    "sorted in a scan": (
        X,
        lambda x: lax.scan(lambda c, _: (jnp.sort(c * 1.1, axis=0), c.sum()), x, None, 2)[1],
    ),
    "sorted in a branch": (
        X,
        lambda x: lax.cond(x.sum() > 0, lambda x: jnp.sort(x, 0), lambda x: x**2, x),
    ),
    "sorted, remembered": (X, jax.checkpoint(lambda x: jnp.sort(x, 0) * jnp.sort(x, 1))),
    "taken by an argsort": (X, lambda x: x[jnp.argsort(x[:, 0])] * jnp.arange(ROWS)[:, None]),
    "taken by 64 bits": (X, lambda x: jnp.take(x, jnp.asarray(IDS, "int64"), axis=0) ** 2),
    "taken by 8 bits": (X, lambda x: jnp.take(x, jnp.asarray(IDS, "uint8"), axis=1) ** 2),
    "taken from outside": (
        X,
        lambda x: jnp.take(x, jnp.asarray([0, 2**40, -(2**40), 3]), axis=0, mode="fill") ** 2,
    ),
    "clipped from outside": (
        X,
        lambda x: jnp.take(x, jnp.asarray([0, 2**40, 3, 6]), axis=0, mode="clip") ** 2,
    ),
    "added at": (X, lambda x: jnp.zeros((5, 6)).at[IDS].add(x) ** 2),
    "set at": (X, lambda x: x.at[IDS[:3]].set(2.0) ** 2),
    "maximum at": (X, lambda x: jnp.zeros((5, 6)).at[IDS].max(x)),
    "permuted": (X, lambda x: x[jax.random.permutation(jax.random.key(0), ROWS)] ** 2),
    # keras.ops
    "ops.argpartition": (X, lambda x: ops.argpartition(x, 2)),
    "ops.associative_scan": (X, lambda x: ops.associative_scan(jnp.add, x) ** 2),
    "ops.batch_normalization": (
        X,
        lambda x: ops.batch_normalization(x, ops.mean(x, 0), ops.var(x, 0), -1) ** 3,
    ),
    "ops.bincount": (X, lambda x: jnp.bincount(jnp.asarray(IDS), weights=x[:, 0], length=5)),
    "ops.broadcast_to": (X, lambda x: ops.broadcast_to(x, (2, ROWS, 6)) ** 2),
    "ops.cast": (X, lambda x: ops.cast(x, "float32") * 1.0),
    "ops.clip": (X, lambda x: ops.clip(x, -1, 1) * x),
    "ops.concatenate": (X, lambda x: ops.concatenate([x, x**2], 0) ** 2),
    "ops.cond": (X, lambda x: ops.cond(ops.sum(x) > 0, lambda: x**2, lambda: x)),
    "ops.conv": (IMAGES, lambda x: ops.conv(x, KERNEL, padding="same") ** 2),
    "ops.conv_transpose": (
        IMAGES,
        lambda x: ops.conv_transpose(x, KERNEL.swapaxes(2, 3), strides=2) ** 2,
    ),
    "ops.correlate": (X, lambda x: ops.correlate(x[:, 0], x[:, 1], mode="full") ** 2),
    "ops.cross": (X, lambda x: ops.cross(x[:, :3], x[:, 3:]) ** 2),
    "ops.ctc_loss": (
        IMAGES,
        lambda x: ops.ctc_loss(
            jnp.ones((ROWS, 2), "int32"),
            ops.reshape(x, (ROWS, -1, 6))[:, :8],
            jnp.full((ROWS,), 2),
            jnp.full((ROWS,), 8),
        ),
    ),
    "ops.depthwise_conv": (IMAGES, lambda x: ops.depthwise_conv(x, DEPTH) ** 2),
    "ops.digitize": (X, lambda x: x[0][ops.digitize(x[:, 0], np.array([-1.0, 0, 1]))] ** 2),
    "ops.einsum": (X, lambda x: ops.einsum("ij,kj->ik", x, x) ** 2),
    "ops.expand_dims": (X, lambda x: ops.expand_dims(x, 1) ** 2),
    "ops.extract_sequences": (X, lambda x: ops.extract_sequences(x, 4, 2) ** 2),
    "ops.fft": (X, lambda x: ops.fft((x, x * 0))[0] ** 2),
    "ops.fft2": (SQUARES, lambda x: ops.fft2((x, x * 0))[0] ** 2),
    "ops.fori_loop": (X, lambda x: ops.fori_loop(0, 3, lambda i, c: c * 1.1 + i, x) ** 2),
    "ops.ifft2": (SQUARES, lambda x: ops.ifft2((x, x * 0))[0] ** 2),
    "ops.in_top_k": (X, lambda x: ops.in_top_k(IDS, x, 2)),
    "ops.irfft": (X, lambda x: ops.irfft((x, x * 0)) ** 2),
    "ops.istft": (
        IMAGES,
        lambda x: ops.istft(ops.stft(ops.reshape(x, (ROWS, -1)), 16, 8, 16), 16, 8, 16) ** 2,
    ),
    "ops.layer_normalization": (X, lambda x: ops.layer_normalization(x, jnp.ones(6), x[0])),
    "ops.lstsq": (SQUARES, lambda x: ops.lstsq(x[0], x[1])),
    "ops.map": (X, lambda x: ops.map(lambda r: ops.sort(r) * 2, x)),
    "ops.matmul": (X, lambda x: ops.matmul(x, ops.transpose(x)) ** 2),
    "ops.moveaxis": (IMAGES, lambda x: ops.moveaxis(x, 0, 2) ** 2),
    "ops.multi_hot": (X, lambda x: ops.multi_hot(WIDE, 6) * x),
    "ops.one_hot": (X, lambda x: ops.one_hot(IDS, 6) * x),
    "ops.outer": (X, lambda x: ops.outer(x[:, 0], x[:, 1]) ** 2),
    "ops.pad": (X, lambda x: ops.pad(x, [(1, 2), (0, 1)]) ** 2),
    "ops.psnr": (X, lambda x: ops.psnr(x, x * 0.9, 1.0)),
    "ops.quantile": (X, lambda x: ops.quantile(x, 0.3, axis=0)),
    "ops.repeat": (X, lambda x: ops.repeat(x, 2, axis=0) ** 2),
    "ops.reshape": (X, lambda x: ops.reshape(x, (-1, 3)) ** 2),
    "ops.rms_normalization": (X, lambda x: ops.rms_normalization(x, jnp.ones(6))),
    "ops.roll": (X, lambda x: ops.roll(x, 2, axis=0) * jnp.arange(6.0)),
    "ops.scan": (X, lambda x: ops.scan(lambda c, r: (c * 0.5 + r, c**2), x[0], x)[1]),
    "ops.scatter": (X, lambda x: ops.scatter(IDS[:, None], x, (5, 6)) ** 2),
    "ops.scatter_update": (X, lambda x: ops.scatter_update(x, IDS[:3, None], x[:3] * 2) ** 2),
    "ops.searchsorted": (X, lambda x: ops.searchsorted(jnp.sort(x[0]), x[:, 0])),
    "ops.segment_max": (X, lambda x: ops.segment_max(x, np.sort(IDS), 5)),
    "ops.segment_sum": (X, lambda x: ops.segment_sum(x, IDS, 5) ** 2),
    "ops.separable_conv": (IMAGES, lambda x: ops.separable_conv(x, DEPTH, POINT) ** 2),
    "ops.slice": (X, lambda x: ops.slice(x, (1, 0), (4, 3)) ** 2),
    "ops.slice_update": (X, lambda x: ops.slice_update(x, (1, 0), x[:2] * 2) ** 2),
    "ops.solve": (SQUARES, lambda x: ops.solve(x, x[:, :, :1])),
    "ops.solve_triangular": (SQUARES, lambda x: ops.solve_triangular(x, x[:, :, :2], lower=True)),
    "ops.sparse_categorical_crossentropy": (
        X,
        lambda x: ops.sparse_categorical_crossentropy(IDS, x, from_logits=True),
    ),
    "ops.split": (X, lambda x: ops.split(x, [2], axis=0)[1] ** 2),
    "ops.stft": (IMAGES, lambda x: ops.stft(ops.reshape(x, (ROWS, -1)), 16, 8, 16)[0] ** 2),
    "ops.switch": (X, lambda x: ops.switch(ops.argmax(x[0]) % 2, [ops.cos, ops.sin], x)),
    "ops.take": (X, lambda x: ops.take(x, IDS, axis=0) ** 2),
    "ops.take_along_axis": (X, lambda x: ops.take_along_axis(x, WIDE, axis=1) ** 2),
    "ops.tensordot": (X, lambda x: ops.tensordot(x, x, axes=[[0], [0]]) ** 2),
    "ops.tile": (X, lambda x: ops.tile(x, (2, 2)) ** 2),
    "ops.top_k": (X, lambda x: ops.top_k(x, 3)[0]),
    "ops.top_k by rows": (X, lambda x: ops.top_k(ops.transpose(x), 3)[0] ** 2),
    "ops.unfold": (IMAGES, lambda x: ops.unfold(ops.transpose(x, (0, 3, 1, 2)), 2) ** 2),
    "ops.unravel_index": (X, lambda x: ops.unravel_index(IDS, (2, 3))[0]),
    "ops.vectorized_map": (X, lambda x: ops.vectorized_map(lambda r: ops.sort(r)[::-1] * r, x)),
    "ops.while_loop": (
        X,
        lambda x: x * lax.stop_gradient(lax.while_loop(lambda c: ops.max(c) < 5, ops.exp, x)),
    ),
    "ops.max_pool": (IMAGES, lambda x: ops.max_pool(x, 2, strides=2)),
    "ops.average_pool": (IMAGES, lambda x: ops.average_pool(x, 2, strides=2) ** 2),
    "ops.adaptive_average_pool": (IMAGES, lambda x: ops.adaptive_average_pool(x, (3, 3)) ** 2),
    "ops.adaptive_max_pool": (IMAGES, lambda x: ops.adaptive_max_pool(x, (3, 3))),
    "ops.array_split": (X, lambda x: ops.array_split(x, 3, axis=0)[1] ** 2),
    "ops.histogram": (X, lambda x: jnp.histogram(x, bins=4)[0] * x.sum()),
    "ops.nanquantile": (X, lambda x: ops.nanquantile(x, 0.4, axis=0)),
    "ops.nonzero": (X, lambda x: x[jnp.nonzero(x[:, 0] > 0, size=4, fill_value=0)[0]] ** 2),
    "ops.segment_min": (X, lambda x: ops.segment_min(x, np.sort(IDS), 5)),
    "ops.segment_prod": (X, lambda x: ops.segment_prod(x, IDS, 5)),
    "ops.swapaxes": (X, lambda x: ops.swapaxes(x, 0, 1) ** 2),
    "ops.unique": (X, lambda x: jnp.unique(x, size=10) ** 2),
    "ops.vander": (X, lambda x: ops.vander(x[:, 0], 4) ** 2),
    # keras.ops.image
    "ops.image.affine_transform": (
        IMAGES,
        lambda x: ops.image.affine_transform(x, jnp.array([[1, 0.1, 0, 0, 1, 0, 0, 0]] * ROWS)),
    ),
    "ops.image.crop_images": (
        IMAGES,
        lambda x: ops.image.crop_images(x, 1, 1, target_height=4, target_width=4) ** 2,
    ),
    "ops.image.extract_patches": (IMAGES, lambda x: ops.image.extract_patches(x, 3) ** 2),
    "ops.image.map_coordinates": (IMAGES, _image_points),
    "ops.image.pad_images": (IMAGES, lambda x: ops.image.pad_images(x, 1, 1, 1, 1) ** 2),
    "ops.image.resize": (IMAGES, lambda x: ops.image.resize(x, (5, 5), "bicubic") ** 2),
    "ops.image.scale_and_translate": (
        IMAGES,
        lambda x: ops.image.scale_and_translate(
            x, (ROWS, 5, 5, 3), jnp.ones(2), jnp.zeros(2), (1, 2), "linear"
        ),
    ),
    "ops.image.perspective_transform": (
        IMAGES,
        lambda x: ops.image.perspective_transform(
            x,
            jnp.array([[[0.0, 0], [7, 0], [0, 7], [7, 7]]] * ROWS),
            jnp.array([[[0.0, 1], [6, 0], [0, 7], [7, 7]]] * ROWS),
        ),
    ),
    "ops.image.gaussian_blur": (IMAGES, lambda x: ops.image.gaussian_blur(x) ** 2),
    # jax.lax
    "lax.associative_scan": (X, lambda x: lax.associative_scan(jnp.multiply, x)),
    "lax.batch_matmul": (SQUARES, lambda x: lax.batch_matmul(x, x)),
    "lax.concatenate": (X, lambda x: lax.concatenate([x, x**2], 0) ** 2),
    "lax.conv": (IMAGES, lambda x: lax.conv(x, IMAGES[:2, :8], (1, 1), "SAME") ** 2),
    "lax.dot_general": (X, lambda x: lax.dot_general(x, x, (((0,), (0,)), ((), ()))) ** 2),
    "lax.dynamic_slice": (X, lambda x: lax.dynamic_slice(x, (lax.argmax(x[0], 0, int), 0), (3, 6))),
    "lax.dynamic_update_slice": (
        X,
        lambda x: lax.dynamic_update_slice(x, x[:2] * 2, (jnp.argmax(x[0]) % 3, 0)) ** 2,
    ),
    "lax.dynamic_index_in_dim": (X, lambda x: lax.dynamic_index_in_dim(x, jnp.argmax(x[0])) ** 2),
    "lax.index_take": (X, lambda x: lax.index_take(x, (IDS, IDS), (0, 1)) ** 2),
    "lax.pad": (X, lambda x: lax.pad(x, 0.0, [(1, 2, 1), (0, 0, 0)]) ** 2),
    "lax.reduce": (X, lambda x: lax.reduce(x, -np.inf, lax.max, (0,))),
    "lax.reduce_window": (
        X,
        lambda x: lax.reduce_window(x, -np.inf, lax.max, (2, 1), (1, 1), "VALID"),
    ),
    "lax.rev": (X, lambda x: lax.rev(x, (0,)) * jnp.arange(6.0)),
    "lax.select_and_scatter_add": (IMAGES, lambda x: ops.max_pool(x, 3, strides=1)),
    "lax.slice": (X, lambda x: lax.slice(x, (1, 0), (6, 6), (2, 1)) ** 2),
    "lax.approx_max_k": (X, lambda x: lax.approx_max_k(x, 3)[0]),
    "lax.scan of rows": (X, lambda x: lax.scan(lambda c, r: (c * 0.5 + r, c**2), x[0], x)[1]),
    "lax.argmax": (X, lambda x: x[lax.argmax(x, 0, jnp.int64)] ** 2),
    "lax.fft": (X, lambda x: jnp.fft.fft(x, axis=0)),
    "lax.scatter_mul": (
        X,
        lambda x: jnp.ones((9, 6)).at[np.arange(7)].multiply(x, unique_indices=True),
    ),
    "lax.scatter_min": (X, lambda x: jnp.zeros((5, 6)).at[IDS].min(x)),
    "lax.transpose": (X, lambda x: lax.transpose(x, (1, 0)) ** 2),
    "lax.linalg.triangular_solve": (
        SQUARES,
        lambda x: lax.linalg.triangular_solve(x, x, left_side=True, lower=True),
    ),
    "lax.map": (X, lambda x: lax.map(lambda r: jnp.sin(r).sum(), x)),
    "lax.linalg.cholesky": (
        X,
        lambda x: lax.linalg.cholesky(x @ x.T + 9 * jnp.eye(ROWS)),
    ),
    "lax.linalg.eigh": (X, lambda x: lax.linalg.eigh(x @ x.T + jnp.diag(jnp.arange(7.0)))[1]),
    "lax.linalg.qr": (X, lambda x: lax.linalg.qr(x, full_matrices=False)[1]),
    "lax.linalg.svd": (X, lambda x: lax.linalg.svd(x, full_matrices=False, compute_uv=False)),
}


NOT_OF_ROWS = {
    "dot_product_attention",  # which JAX computes in float32 inside
    "psum", "pmax", "pmin", "pmean", "pvary", "axis_index", "rng_bit_generator", "shape_as_value",
    "random_gamma_grad", "optimization_barrier", "infeed", "outfeed", "with_sharding_constraint",
}  # fmt: skip
"""Operations between devices that a program names itself, and such as have no rows."""


def found() -> Iterator[tuple[str, Any, Function]]:
    """List every operation with its rows: those above, and all others whose arguments are known."""
    for name, (rows, function) in GIVEN.items():
        yield name, rows, function
    for room, module in {
        "ops": ops,
        "ops.image": ops.image,
        "ops.linalg": ops.linalg,
        "lax": lax,
        "lax.linalg": lax.linalg,
    }.items():
        for name in sorted(dir(module)):
            function = getattr(module, name)
            label = f"{room}.{name}"
            if name.startswith("_") or not callable(function) or isinstance(function, type):
                continue
            if label not in GIVEN and name not in NOT_OF_ROWS:
                yield from _called(label, function)


def _called(label: str, function: Any) -> Iterator[tuple[str, Any, Function]]:
    """Find arguments that an operation takes, also along the rows where it has an axis."""
    tries = [
        (X, lambda x: function(x)),
        (X, lambda x: function(jnp.abs(x) + 0.1)),
        (X, lambda x: function(x, x * 0.5 + 1)),
        (SQUARES, lambda x: function(x)),
        (IMAGES, lambda x: function(jax.nn.sigmoid(x))),
        (X, lambda x: function([x, x * 2])),
        (X, lambda x: function(x > 0, x, x**2)),
        (X, lambda x: function((x, x * 0))),
        (X, lambda x: function(WIDE) * x),
        (X, lambda x: function(WIDE, WIDE) * x),
        (X, lambda x: function(x, 0)),
        (X, lambda x: function(x, (0,))),
        (X, lambda x: function(x, x, x)),
    ]
    for rows, tried in tries:
        if _works(tried, rows):
            yield label, rows, tried
            break
    try:
        has_axis = "axis" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return
    for axis in (0, 1) if has_axis else ():
        along = _along(function, axis)
        if _works(along, X):
            yield f"{label} along {axis}", X, along


def _along(function: Any, axis: int) -> Function:
    return lambda x: function(x, axis=axis)


def _works(function: Function, rows: np.ndarray) -> bool:
    try:
        given = jax.eval_shape(function, jax.ShapeDtypeStruct(rows.shape, rows.dtype))
        return any(hasattr(leaf, "dtype") for leaf in jax.tree.leaves(given))
    except Exception:
        return False
