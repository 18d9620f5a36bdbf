"""Numbers as text, and text as numbers.

In: tensors.  Out: tensors.  Text is not computed on devices: a step that wants numbers as text runs
eagerly.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from manyhands.errors import explain
from manyhands.tf.dtypes import as_dtype, on_device
from manyhands.tf.errors import InvalidArgumentError
from manyhands.tf.known_shapes import want_values
from manyhands.tf.tensor import Text, tensor, text
from manyhands.tf.written import written

_READERS = {"float32": float, "float64": float, "int32": int, "int64": int}


def to_number(input: Any, out_type: Any = "float32", name: Any = None) -> Any:
    """Read numbers."""
    del name
    kind = as_dtype(out_type).name
    if kind not in _READERS:
        raise TypeError(f"out_type is float32, float64, int32 or int64, got {kind}")
    given = text(input)
    found = np.array([_number(one, kind) for one in given.ravel().tolist()], kind)
    return jnp.asarray(found.reshape(given.shape), on_device(kind))


def _number(word: bytes, kind: str) -> Any:
    try:
        if b"_" in word:  # Python's own way to write numbers
            raise ValueError(word)
        with np.errstate(over="ignore"):
            return np.dtype(kind).type(_READERS[kind](word))
    except (ValueError, OverflowError):
        raise InvalidArgumentError(
            explain(
                f"StringToNumberOp could not correctly convert string: {word!r}.",
                got=f"something else than {kind}",
                fix="leave out or mend what is no such number before.",
            )
        ) from None


def as_string(
    input: Any,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: Any = None,
) -> Text:
    """Write numbers, as C's printf does."""
    del name
    given = tensor(input)
    if isinstance(given, Text):
        return given
    want_values(given, "tf.strings.as_string writes values")
    array = np.asarray(given)
    if array.dtype.kind == "b":
        return text(np.where(array, b"true", b"false").astype(object))
    if scientific and shortest:
        raise InvalidArgumentError("Cannot select both scientific and shortest notation")
    is_float = jnp.issubdtype(array.dtype, jnp.inexact)
    if precision >= 0 and not is_float:
        raise InvalidArgumentError(f"precision not supported for datatype {array.dtype.name}")
    letter = ("e" if scientific else "g" if shortest else "f") if is_float else "d"
    size = (str(width) if width >= 0 else "") + (f".{precision}" if precision >= 0 else "")
    words = [_printed(f"%{fill}{size}{letter}", one) for one in array.ravel().tolist()]
    return text(np.array(words, object).reshape(array.shape))


def _printed(form: str, one: Any) -> str:
    return f"({form % one.real},{form % one.imag})" if isinstance(one, complex) else form % one


def format(
    template: str, inputs: Any, placeholder: str = "{}", summarize: int = 3, name: Any = None
) -> Text:
    """Write tensors into a template: the first and last few numbers of large ones."""
    del name
    given = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
    pieces = template.split(placeholder)
    if len(pieces) != len(given) + 1:
        raise ValueError(
            f"{len(pieces) - 1} placeholder(s) in template does not match {len(given)} tensor(s) "
            "provided as input"
        )
    for one in given:
        want_values(one, "tf.strings.format writes values")
    words = [written(tensor(one), int(summarize)) for one in given]
    return text("".join(a + b for a, b in zip(pieces, [*words, ""], strict=True)))
