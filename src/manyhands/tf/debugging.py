"""tf.debugging: checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from manyhands.engine.jax_inside import is_tracer
from manyhands.tf.errors import InvalidArgumentError
from manyhands.tf.keywords import takes_tensor
from manyhands.tf.tensor import tensor


def _check(x: Any, y: Any, holds: Callable[[Any, Any], Any], words: str, message: Any) -> None:
    x, y = tensor(x), tensor(y)
    if is_tracer(x) or is_tracer(y):
        return  # not known yet: nothing is checked inside a compiled step
    if not np.all(holds(np.asarray(x), np.asarray(y))):
        raise InvalidArgumentError(
            f"{message or ''} Condition x {words} y did not hold.\nx: {x}\ny: {y}".strip()
        )


def _comparison(holds: Callable[[Any, Any], Any], words: str) -> Any:
    def check(x: Any, y: Any, message: Any = None, summarize: Any = None, name: Any = None) -> None:
        del summarize, name
        _check(x, y, holds, words, message)

    return check


assert_equal = _comparison(np.equal, "==")
assert_none_equal = _comparison(np.not_equal, "!=")
assert_greater = _comparison(np.greater, ">")
assert_greater_equal = _comparison(np.greater_equal, ">=")
assert_less = _comparison(np.less, "<")
assert_less_equal = _comparison(np.less_equal, "<=")


def assert_near(
    x: Any,
    y: Any,
    rtol: Any = None,
    atol: Any = None,
    message: Any = None,
    summarize: Any = None,
    name: Any = None,
) -> None:
    """Check that values are close: ten of their dtype's smallest steps, unless told."""
    del summarize, name
    kind = tensor(x).dtype
    step = 10 * float(jnp.finfo(kind).eps) if jnp.issubdtype(kind, jnp.inexact) else 0.0
    relative = step if rtol is None else float(rtol)
    absolute = step if atol is None else float(atol)
    near = lambda x, y: np.abs(x - y) <= absolute + relative * np.abs(y)  # noqa: E731
    _check(x, y, near, "~=", message)


def assert_non_negative(
    x: Any, message: Any = None, summarize: Any = None, name: Any = None
) -> None:
    """Check that nothing is below zero."""
    del summarize, name
    _check(x, 0, np.greater_equal, ">=", message)


def assert_positive(x: Any, message: Any = None, summarize: Any = None, name: Any = None) -> None:
    """Check that everything is above zero."""
    del summarize, name
    _check(x, 0, np.greater, ">", message)


def Assert(condition: Any, data: Any, summarize: Any = None, name: Any = None) -> None:  # noqa: N802
    """Check a condition."""
    del summarize, name
    if not is_tracer(condition) and not np.all(np.asarray(condition)):
        raise InvalidArgumentError(f"assertion failed: {data}")


def assert_shapes(shapes: Any, **_: Any) -> None:
    """Check ranks and dims that are numbers."""
    for one, wanted in shapes.items() if isinstance(shapes, dict) else shapes:
        have = tuple(np.shape(one))
        if len(have) != len(wanted) or any(
            isinstance(w, int) and w != h for w, h in zip(wanted, have, strict=True)
        ):
            raise ValueError(f"expected shape {tuple(wanted)}, got {have}")


def assert_rank(x: Any, rank: int, message: Any = None, name: Any = None) -> None:
    """Check how many dims there are."""
    del name
    if np.ndim(x) != rank:
        raise ValueError(f"{message or ''} expected rank {rank}, got {np.ndim(x)}".strip())


@takes_tensor
def check_numerics(tensor_: Any, message: str, name: Any = None) -> Any:
    """Check that everything is finite."""
    del name
    value = tensor(tensor_)
    if not is_tracer(value) and not np.all(np.isfinite(np.asarray(value))):
        raise InvalidArgumentError(f"{message} : Tensor had NaN or Inf values")
    return value


def enable_check_numerics(*_: Any, **__: Any) -> None:
    """Stop at the first NaN."""
    import jax

    jax.config.update("jax_debug_nans", True)


def disable_check_numerics() -> None:
    """Go on after a NaN."""
    import jax

    jax.config.update("jax_debug_nans", False)


def set_log_device_placement(enabled: bool) -> None:
    """XLA places whole programs; there is nothing to log for each operation."""
    del enabled


@takes_tensor
def is_numeric_tensor(tensor_: Any) -> bool:
    """Whether something holds numbers."""
    return getattr(getattr(tensor_, "dtype", None), "kind", "O") in "biufcV"
