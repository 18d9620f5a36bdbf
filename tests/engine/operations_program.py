"""Run operations and their gradients on four devices and on one: `program.py BEGIN STEP`.

Seven rows, so that nothing divides; prints what differs, and what is tried before it is tried, so
that an abort has a name.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import manyhands as mh

mh.config.set_virtual_devices(4)

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402
from jax.extend.core import ClosedJaxpr, Jaxpr  # noqa: E402
from keras.src.backend.common import dtypes  # noqa: E402

from tests.engine.operations import found  # noqa: E402

AT_ONCE = 8


def loss_of(function: Callable[[Any], Any], rows: Any, weights: Any) -> Any:
    given = jax.tree.leaves(function(rows * weights))
    numbers = [jnp.sum(jnp.abs(part) * 1.0) for part in given if hasattr(part, "dtype")]
    return sum(numbers, start=jnp.zeros(()))


def step_of(operations: list[Any]) -> Callable[..., Any]:
    def step(*rows: Any) -> list[Any]:
        results = []
        for (_, _, function, differentiable), part in zip(operations, rows, strict=True):
            weights = jnp.linspace(0.9, 1.1, part.shape[-1])
            loss = lambda w, f=function, x=part: loss_of(f, x, w)  # noqa: E731
            results.append((jax.value_and_grad if differentiable else _value_only)(loss)(weights))
        return results

    return step


def _value_only(loss: Any) -> Any:
    return lambda weights: (loss(weights), jnp.zeros(()))


def is_differentiable(function: Any, rows: Any) -> bool:
    try:
        weights = jax.ShapeDtypeStruct(rows.shape[-1:], rows.dtype)
        part = jax.ShapeDtypeStruct(rows.shape, rows.dtype)
        jax.eval_shape(jax.grad(lambda w, x: loss_of(function, x, w)), weights, part)
    except Exception:
        return False
    return True


def kinds_in(function: Any, rows: Any, differentiable: bool) -> set[str]:
    """List what an operation and its gradient are made of, less what works number by number."""
    loss = lambda w, x: loss_of(function, x, w)  # noqa: E731
    weights = jax.ShapeDtypeStruct(rows.shape[-1:], rows.dtype)
    closed = jax.make_jaxpr(jax.grad(loss) if differentiable else loss)(
        weights, jax.ShapeDtypeStruct(rows.shape, rows.dtype)
    )
    return set(_kinds(closed.jaxpr))


def _kinds(jaxpr: Any) -> Iterator[str]:
    for equation in jaxpr.eqns:
        held = jax.tree.leaves(list(equation.params.values()), is_leaf=_is_jaxpr)
        inner = list(filter(_is_jaxpr, held))
        for part in inner:
            yield from _kinds(getattr(part, "jaxpr", part))
        shapes = {part.aval.shape for part in (*equation.invars, *equation.outvars)}
        if len(shapes - {()}) > 1 or inner or equation.primitive.name in ("sort", "rev", "cumsum"):
            plain = {k: v for k, v in equation.params.items() if not _is_jaxpr(v)}
            kinds = {getattr(part.aval.dtype, "kind", "key") for part in equation.invars}
            indices = str(equation.invars[1].aval.dtype) if len(equation.invars) > 1 else ""
            yield f"{equation.primitive.name} {sorted(kinds)} {indices} {_where(plain)}"


def _is_jaxpr(part: Any) -> bool:
    return isinstance(part, ClosedJaxpr | Jaxpr)


def _where(params: dict[str, Any]) -> str:
    """Say whether an operation works along the rows."""
    told = ("axes", "axis", "dimension", "dimension_numbers", "permutation", "broadcast_dimensions")
    return str([(name, "0" in str(params[name])) for name in told if name in params])


def distinct(operations: list[Any]) -> list[Any]:
    """Leave out the operations that are made of nothing that those before were not."""
    seen: set[str] = set()
    kept = []
    for name, rows, function in operations:
        differentiable = is_differentiable(function, rows)
        kinds = kinds_in(function, rows, differentiable)
        if not kinds <= seen:
            kept.append((name, rows, function, differentiable))
        seen |= kinds
    return kept


def compare(strategy: Any, operations: list[Any]) -> list[str]:
    names = [name for name, *_ in operations]
    print("trying", *names, sep=" | ", flush=True)
    step, rows = step_of(operations), tuple(part for _, part, *_ in operations)
    wanted = jax.jit(step)(*rows)
    strategy._runner._alike.clear()
    given = strategy.run(step, args=rows)
    return [
        f"{name}: {np.asarray(g)} is not {np.asarray(w)}"
        for name, pair, want in zip(names, given, wanted, strict=True)
        for g, w in zip(pair, want, strict=True)
        if not np.allclose(g, w, rtol=1e-8, atol=1e-9, equal_nan=True)
    ]


def main(begin: int, every: int) -> None:
    jax.config.update("jax_enable_x64", True)
    dtypes.BIT64_TO_BIT32_DTYPE["float64"] = "float64"
    keras.config.set_floatx("float64")
    warnings.simplefilter("ignore")
    # Most ways to call an operation are wrong, and JAX would tidy up each error's traceback.
    jax.config.update("jax_traceback_filtering", "off")
    everything = list(found())[begin::every]
    kept = distinct(everything)
    print(f"{len(kept)} of {len(everything)} operations are unlike those before")
    strategy = mh.MirroredStrategy()
    wrong = []
    for i in range(0, len(kept), AT_ONCE):
        wrong += compare(strategy, kept[i : i + AT_ONCE])
    print(f"compared {len(kept)}, {sum(one[3] for one in kept)} with a gradient")
    print("\n".join(f"WRONG {line}" for line in wrong))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
