"""tf.linalg: matrices."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from manyhands.tf.dtypes import on_device
from manyhands.tf.keywords import takes_tensor
from manyhands.tf.making import eye
from manyhands.tf.math import l2_normalize
from manyhands.tf.tensor import tensor


def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: Any = None,
    name: Any = None,
) -> Any:
    """Multiply matrices."""
    del name, a_is_sparse, b_is_sparse
    a, b = tensor(a), tensor(b)
    a = jnp.swapaxes(a, -1, -2) if transpose_a or adjoint_a else a
    b = jnp.swapaxes(b, -1, -2) if transpose_b or adjoint_b else b
    found = jnp.matmul(jnp.conj(a) if adjoint_a else a, jnp.conj(b) if adjoint_b else b)
    return found if output_type is None else found.astype(on_device(output_type))


def matvec(a: Any, b: Any, transpose_a: bool = False, name: Any = None) -> Any:
    """Multiply a matrix with a vector."""
    del name
    return matmul(a, tensor(b)[..., None], transpose_a)[..., 0]


def einsum(equation: str, *inputs: Any, **_: Any) -> Any:
    """Sum products by their indices."""
    return jnp.einsum(equation, *map(tensor, inputs))


def tensordot(a: Any, b: Any, axes: Any, name: Any = None) -> Any:
    """Sum products over dims."""
    del name
    return jnp.tensordot(tensor(a), tensor(b), axes if isinstance(axes, int) else tuple(axes))


@takes_tensor
def norm(
    tensor_: Any,
    ord: Any = "euclidean",
    axis: Any = None,
    keepdims: bool = False,
    name: Any = None,
) -> Any:
    """Length of vectors, or of everything together."""
    del name
    value = tensor(tensor_)
    axis = tuple(axis) if isinstance(axis, list) else axis
    if ord == "euclidean":
        return jnp.sqrt(jnp.sum(jnp.square(jnp.abs(value)), axis=axis, keepdims=keepdims))
    return jnp.linalg.norm(
        value.ravel() if axis is None and value.ndim > 2 else value, ord, axis, keepdims
    )


def global_norm(t_list: Any, name: Any = None) -> Any:
    """Length of several tensors taken together."""
    del name
    parts = [jnp.sum(jnp.square(tensor(part))) for part in t_list if part is not None]
    return jnp.sqrt(sum(parts[1:], parts[0]))


def diag(diagonal: Any, k: int = 0, name: Any = None) -> Any:
    """A matrix with this diagonal, or one beside the middle."""
    del name
    diagonal = tensor(diagonal)
    made = lambda line: jnp.diag(line, k)  # noqa: E731
    for _ in range(diagonal.ndim - 1):
        made = jax.vmap(made)
    return made(diagonal)


def diag_part(input: Any, k: int = 0, name: Any = None) -> Any:
    """The diagonal of a matrix, or one beside the middle."""
    del name
    return jnp.diagonal(tensor(input), offset=k, axis1=-2, axis2=-1)


def set_diag(
    input: Any, diagonal: Any, name: Any = "set_diag", k: int = 0, align: str = "RIGHT_LEFT"
) -> Any:
    """Put a diagonal into a matrix, or one beside the middle."""
    del name, align
    if not isinstance(k, int | np.integer):
        raise ValueError(f"set_diag puts one diagonal at a time, got k={k!r}: call it for each.")
    value = tensor(input)
    count = tensor(diagonal).shape[-1]
    rows, columns = np.arange(count) + max(-k, 0), np.arange(count) + max(k, 0)
    return value.at[..., rows, columns].set(tensor(diagonal).astype(value.dtype))


def band_part(input: Any, num_lower: int, num_upper: int, name: Any = None) -> Any:
    """Keep a band around the diagonal."""
    del name
    value = tensor(input)
    rows, columns = jnp.indices(value.shape[-2:])
    keep = ((num_lower < 0) | (rows - columns <= num_lower)) & (
        (num_upper < 0) | (columns - rows <= num_upper)
    )
    return jnp.where(keep, value, jnp.zeros_like(value))


def trace(x: Any, name: Any = None) -> Any:
    """The sum of the diagonal."""
    del name
    return jnp.trace(tensor(x), axis1=-2, axis2=-1)


def det(input: Any, name: Any = None) -> Any:
    """The determinant."""
    del name
    return jnp.linalg.det(tensor(input))


def slogdet(input: Any, name: Any = None) -> Any:
    """The determinant's sign and the logarithm of its size."""
    del name
    return tuple(jnp.linalg.slogdet(tensor(input)))


def inv(input: Any, adjoint: bool = False, name: Any = None) -> Any:
    """The inverse."""
    del name
    found = jnp.linalg.inv(tensor(input))
    return jnp.conj(jnp.swapaxes(found, -1, -2)) if adjoint else found


def cholesky(input: Any, name: Any = None) -> Any:
    """The lower Cholesky factor."""
    del name
    return jnp.linalg.cholesky(tensor(input))


def solve(matrix: Any, rhs: Any, adjoint: bool = False, name: Any = None) -> Any:
    """Solve linear equations."""
    del name
    matrix = tensor(matrix)
    return jnp.linalg.solve(
        jnp.conj(jnp.swapaxes(matrix, -1, -2)) if adjoint else matrix, tensor(rhs)
    )


def lstsq(matrix: Any, rhs: Any, name: Any = None) -> Any:
    """Solve linear equations as well as can be."""
    del name
    return jnp.linalg.lstsq(tensor(matrix), tensor(rhs))[0]


@takes_tensor
def svd(
    tensor_: Any, full_matrices: bool = False, compute_uv: bool = True, name: Any = None
) -> Any:
    """Singular values, and their vectors."""
    del name
    if not compute_uv:
        return jnp.linalg.svd(tensor(tensor_), compute_uv=False)
    u, s, vh = jnp.linalg.svd(tensor(tensor_), full_matrices=full_matrices)
    return s, u, jnp.conj(jnp.swapaxes(vh, -1, -2))


def qr(input: Any, full_matrices: bool = False, name: Any = None) -> Any:
    """Orthogonal times triangular."""
    del name
    return tuple(jnp.linalg.qr(tensor(input), mode="complete" if full_matrices else "reduced"))


@takes_tensor
def eigh(tensor_: Any, name: Any = None) -> Any:
    """Eigenvalues and vectors of a symmetric matrix."""
    del name
    return tuple(jnp.linalg.eigh(tensor(tensor_)))


def expm(input: Any, name: Any = None) -> Any:
    """The matrix exponential."""
    del name
    return jax.scipy.linalg.expm(tensor(input))


def matrix_transpose(a: Any, name: Any = "matrix_transpose", conjugate: bool = False) -> Any:
    """Exchange the last two dims."""
    del name
    found = jnp.swapaxes(tensor(a), -1, -2)
    return jnp.conj(found) if conjugate else found


def cross(a: Any, b: Any, name: Any = None) -> Any:
    """The cross product."""
    del name
    return jnp.cross(tensor(a), tensor(b))


__all__ = [
    "band_part",
    "cholesky",
    "cross",
    "det",
    "diag",
    "diag_part",
    "eigh",
    "einsum",
    "expm",
    "eye",
    "global_norm",
    "inv",
    "l2_normalize",
    "lstsq",
    "matmul",
    "matrix_transpose",
    "matvec",
    "norm",
    "qr",
    "set_diag",
    "slogdet",
    "solve",
    "svd",
    "tensordot",
    "trace",
]
