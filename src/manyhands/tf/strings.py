"""tf.strings: tensors of text, taken apart and put together in Python.

In: text, lists of it, tensors of strings.  Out: tensors of strings, or of numbers.  Bytes are
counted and cut unless `unit` says UTF8_CHAR.  There are no ragged tensors: rows that split into
unequal numbers of pieces are an error.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from manyhands.errors import explain
from manyhands.tf.errors import InvalidArgumentError
from manyhands.tf.string_numbers import as_string, format, to_number
from manyhands.tf.string_patterns import regex_full_match, regex_replace
from manyhands.tf.tensor import Text, text


def each(function: Callable[..., Any], *inputs: Any) -> np.ndarray:
    """Call a function on each element of the inputs, broadcast together."""
    found = np.frompyfunc(function, len(inputs), 1)(*(np.asarray(one) for one in inputs))
    return np.asarray(found, object)


def split(input: Any, sep: Any = None, maxsplit: int = -1, name: Any = None) -> Text:
    """Cut text into pieces: at `sep`, or wherever there is white space."""
    del name
    given = text(input)
    at = text(sep or b"").item() or None
    pieces = [one.split(at, maxsplit) for one in given.ravel().tolist()]
    counts = {len(one) for one in pieces}
    if len(counts) > 1:
        raise InvalidArgumentError(
            explain(
                "tf.strings.split would give rows of unequal length; there are no ragged tensors.",
                got=f"rows of {', '.join(map(str, sorted(counts)))} pieces",
                fix="split one text at a time (Dataset.map before batch), then padded_batch.",
            )
        )
    found = np.empty((len(pieces), counts.pop() if counts else 0), object)
    found[:] = pieces
    return text(found.reshape(*given.shape, found.shape[1]))


def lower(input: Any, encoding: str = "", name: Any = None) -> Text:
    """Small letters: of ASCII, or of everything where the encoding is utf-8."""
    del name
    return text(each(_cased(str.lower, bytes.lower, encoding), text(input)))


def upper(input: Any, encoding: str = "", name: Any = None) -> Text:
    """Capital letters: of ASCII, or of everything where the encoding is utf-8."""
    del name
    return text(each(_cased(str.upper, bytes.upper, encoding), text(input)))


def _cased(of_text: Any, of_bytes: Any, encoding: str) -> Callable[[bytes], bytes]:
    if encoding.lower() in ("utf-8", "utf8"):
        return lambda one: of_text(one.decode()).encode()
    return of_bytes


def strip(input: Any, name: Any = None) -> Text:
    """Leave out white space at both ends."""
    del name
    return text(each(bytes.strip, text(input)))


def join(inputs: Any, separator: Any = "", name: Any = None) -> Text:
    """Put texts together, element by element."""
    del name
    between = text(separator).item()
    if not inputs:
        return text(b"")
    return text(each(lambda *parts: between.join(parts), *(text(one) for one in inputs)))


def length(input: Any, unit: str = "BYTE", name: Any = None) -> Any:
    """How long each text is."""
    del name
    found = each(lambda one: len(_units(one, unit)), text(input))
    return jnp.asarray(found.astype("int32"))


def _units(one: bytes, unit: str) -> Any:
    if unit not in ("BYTE", "UTF8_CHAR"):
        raise ValueError(f"unit is BYTE or UTF8_CHAR, got {unit!r}")
    return one.decode(errors="replace") if unit == "UTF8_CHAR" else one


def substr(input: Any, pos: Any, len: Any, unit: str = "BYTE", name: Any = None) -> Text:
    """Cut a piece out of each text; a negative `pos` counts from the end."""
    del name

    def piece(one: bytes, start: int, count: int) -> bytes:
        whole = _units(one, unit)
        size = builtins.len(whole)
        if not -size <= start <= size:
            raise InvalidArgumentError(
                explain(
                    f"pos {start} out of range for string.",
                    got=f"a text of length {size}",
                    fix="give a pos inside every text; tf.strings.length says how long they are.",
                )
            )
        start = start + size if start < 0 else start
        found = whole[start : start + count if count >= 0 else size]
        return found.encode() if isinstance(found, str) else found

    return text(each(piece, text(input), np.asarray(pos), np.asarray(len)))


def reduce_join(
    inputs: Any, axis: Any = None, keepdims: bool = False, separator: Any = "", name: Any = None
) -> Text:
    """Put the texts along dims together; dims are taken in the order they are named."""
    del name
    given, between = np.asarray(text(inputs)), text(separator).item()
    last_first = range(given.ndim - 1, -1, -1)
    axes = [int(one) % given.ndim for one in np.ravel(last_first if axis is None else axis)]
    for one in axes:
        lines = np.moveaxis(given, one, -1)
        joined = np.empty(lines.shape[:-1], object)
        for place in np.ndindex(joined.shape):
            joined[place] = between.join(lines[place])
        given = np.expand_dims(joined, one)
    return text(given if keepdims else np.squeeze(given, tuple(axes)))


__all__ = ["as_string", "format", "regex_full_match", "regex_replace", "to_number"]
