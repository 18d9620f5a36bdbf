"""Which dim of a value holds the rows of the batch, operation by operation.

In: an operation of a jaxpr and where its operands hold their rows.  Out: where its results do, and
whether it is a sum over the rows.  None means: nowhere, or not known, which is always safe to say:
what follows from it is only which device computes what.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

Dim: TypeAlias = int | None
Shape: TypeAlias = tuple[int, ...]


def dim_after(
    name: str, params: dict[str, Any], shapes: list[Shape], dims: list[Dim], out: Shape
) -> Dim:
    """Say where a result of this shape holds the rows."""
    rule = _RULES.get(name, _same_place)
    return rule(params, shapes, dims, out)


def is_sum(name: str, params: dict[str, Any], dims: list[Dim]) -> bool:
    """Whether the operation adds up the rows, so that it can be done device by device first."""
    rule = _SUMS.get(name)
    return rule is not None and rule(params, dims)


def _same_place(params: dict[str, Any], shapes: list[Shape], dims: list[Dim], out: Shape) -> Dim:  # noqa: ARG001
    """Operations that keep dims: by element, and those along other dims."""
    for shape, dim in zip(shapes, dims, strict=True):
        if dim is not None and len(shape) == len(out) and shape[dim] == out[dim]:
            return dim
    return None


def _broadcast(params: dict[str, Any], shapes: list[Shape], dims: list[Dim], out: Shape) -> Dim:
    dim = dims[0]
    if dim is None:
        return None
    after = int(params["broadcast_dimensions"][dim])
    return after if out[after] == shapes[0][dim] else None


def _transpose(params: dict[str, Any], shapes: list[Shape], dims: list[Dim], out: Shape) -> Dim:  # noqa: ARG001
    return None if dims[0] is None else tuple(params["permutation"]).index(dims[0])


def _reshape(params: dict[str, Any], shapes: list[Shape], dims: list[Dim], out: Shape) -> Dim:  # noqa: ARG001
    """Rows stay rows, also when each brings several or they come in groups."""
    dim = dims[0]
    if dim is None or 0 in out:
        return None
    before, size = math.prod(shapes[0][:dim]), shapes[0][dim]
    for after, length in enumerate(out):
        if math.prod(out[:after]) == before and (length % size == 0 or size % length == 0):
            return after if length > 1 else None
    return None


def _dropping(key: str) -> Callable[..., Dim]:
    def rule(params: dict[str, Any], shapes: list[Shape], dims: list[Dim], out: Shape) -> Dim:  # noqa: ARG001
        dim, gone = dims[0], params[key]
        if dim is None or dim in gone:
            return None
        return dim - sum(other < dim for other in gone)

    return rule


def _dot(params: dict[str, Any], shapes: list[Shape], dims: list[Dim], out: Shape) -> Dim:  # noqa: ARG001
    contracted, batch = params["dimension_numbers"]
    offset = len(batch[0])
    for shape, dim, summed, paired in zip(shapes, dims, contracted, batch, strict=True):
        if dim in paired:
            return tuple(paired).index(dim)
        free = [d for d in range(len(shape)) if d not in summed and d not in paired]
        if dim in free:
            return offset + free.index(dim)
        offset += len(free)
    return None


def _conv(params: dict[str, Any], shapes: list[Shape], dims: list[Dim], out: Shape) -> Dim:  # noqa: ARG001
    numbers = params["dimension_numbers"]
    return numbers.out_spec[0] if dims[0] == numbers.lhs_spec[0] else None


def _gather(params: dict[str, Any], shapes: list[Shape], dims: list[Dim], out: Shape) -> Dim:  # noqa: ARG001
    """Looking up: one result for each index."""
    if dims[1] is None:
        return None
    looked_up = [d for d in range(len(out)) if d not in params["dimension_numbers"].offset_dims]
    return looked_up[dims[1]] if dims[1] < len(looked_up) else None


def _concatenate(params: dict[str, Any], shapes: list[Shape], dims: list[Dim], out: Shape) -> Dim:
    dim = _same_place(params, shapes, dims, out)
    return None if dim == params["dimension"] else dim


_REDUCTIONS = ("reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "reduce_and", "reduce_or")
_RULES: dict[str, Callable[..., Dim]] = {
    "broadcast_in_dim": _broadcast,
    "transpose": _transpose,
    "reshape": _reshape,
    "squeeze": _dropping("dimensions"),
    "dot_general": _dot,
    "conv_general_dilated": _conv,
    "gather": _gather,
    "concatenate": _concatenate,
    **dict.fromkeys((*_REDUCTIONS, "argmax", "argmin"), _dropping("axes")),
}


def _sums_dims(params: dict[str, Any], dims: list[Dim]) -> bool:
    return dims[0] in params["axes"]


def _sums_products(params: dict[str, Any], dims: list[Dim]) -> bool:
    (left, right), _ = params["dimension_numbers"]
    return (dims[0], dims[1]) in zip(left, right, strict=True)


def _sums_windows(params: dict[str, Any], dims: list[Dim]) -> bool:
    """A convolution whose features are rows: the gradient of a kernel."""
    numbers = params["dimension_numbers"]
    whole = params["feature_group_count"] == params["batch_group_count"] == 1
    return whole and (dims[0], dims[1]) == (numbers.lhs_spec[1], numbers.rhs_spec[1])


_SUMS: dict[str, Callable[[dict[str, Any], list[Dim]], bool]] = {
    "reduce_sum": _sums_dims,
    "dot_general": _sums_products,
    "conv_general_dilated": _sums_windows,
}
