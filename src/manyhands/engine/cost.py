"""Count the work of a step before anything is compiled.

In: a jaxpr.  Out: floating-point operations, roughly: products exactly, the rest one a result.
The same on every platform and every run, so that what is decided by it is too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any


def count_flops(jaxpr: Any) -> float:
    """Add up the operations of a jaxpr and of those inside it."""
    return sum(_equation_flops(equation) for equation in jaxpr.eqns)


def _equation_flops(equation: Any) -> float:
    name = equation.primitive.name
    if name == "dot_general":
        return _dot_flops(equation)
    if name == "conv_general_dilated":
        return _conv_flops(equation)
    inside = [count_flops(jaxpr) for jaxpr in _jaxprs(equation.params)]
    if name == "scan":
        return equation.params["length"] * sum(inside)
    if name == "cond":
        return max(inside, default=0.0)
    return sum(inside) if inside else float(sum(_size(v) for v in equation.outvars))


def _dot_flops(equation: Any) -> float:
    (contracted, _), _ = equation.params["dimension_numbers"]
    shape = equation.invars[0].aval.shape
    return 2.0 * _size(equation.outvars[0]) * math.prod(shape[dim] for dim in contracted)


def _conv_flops(equation: Any) -> float:
    kernel = equation.invars[1].aval.shape
    out_features = kernel[equation.params["dimension_numbers"].rhs_spec[0]]
    return 2.0 * _size(equation.outvars[0]) * math.prod(kernel) / max(1, out_features)


def _size(variable: Any) -> int:
    return math.prod(getattr(variable.aval, "shape", ()))


def _jaxprs(params: dict[str, Any]) -> Iterator[Any]:
    """Find the jaxprs among an equation's parameters, open or closed, alone or listed."""
    for value in params.values():
        for part in value if isinstance(value, tuple | list) else (value,):
            inner = getattr(part, "jaxpr", part)
            if hasattr(inner, "eqns"):
                yield inner
