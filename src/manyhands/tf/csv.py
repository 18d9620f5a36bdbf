"""Lines of comma-separated values, taken apart into columns.

In: text, and for each column the value that stands where a field is empty.  Out: a tensor for each
column, of the kind of that value and the shape of the text.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import jax.numpy as jnp
import numpy as np

from manyhands.errors import explain
from manyhands.tf.errors import InvalidArgumentError
from manyhands.tf.tensor import tensor, text

_NUMBERS = {"float32": float, "float64": float, "int32": int, "int64": int}


def decode_csv(
    records: Any,
    record_defaults: Any,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Any = None,
    name: Any = None,
) -> list[Any]:
    """Take lines apart into columns; one whose default is empty must be in every line."""
    del name
    lines = text(records)
    columns = [_column(number, value) for number, value in enumerate(record_defaults)]
    wanted = _wanted(select_cols, len(columns))
    absent = (b"", na_value.encode())
    values: list[list[Any]] = [[] for _ in columns]
    for number, line in enumerate(lines.ravel().tolist()):
        fields = _picked(_fields(line, field_delim, use_quote_delim), wanted)
        if len(fields) != len(columns):
            raise _misfit(
                f"Expect {len(columns)} fields but have {len(fields)} in record {number}.", line
            )
        for column, field, found in zip(columns, fields, values, strict=True):
            found.append(column.default(number) if field in absent else column.read(field, number))
    pairs = zip(columns, values, strict=True)
    return [column.tensor(found, lines.shape) for column, found in pairs]


@dataclass(frozen=True, slots=True)
class _Column:
    number: int
    kind: str
    given: tuple[Any, ...]
    """The value where a field is empty; nothing where none may be."""

    def default(self, record: int) -> Any:
        if self.given:
            return self.given[0]
        raise _misfit(f"Field {self.number} is required but missing in record {record}!", b"")

    def read(self, field: bytes, record: int) -> Any:
        if self.kind == "string":
            return field
        try:
            if b"_" in field:  # Python's own way to write numbers
                raise ValueError(field)
            with np.errstate(over="ignore"):
                return np.dtype(self.kind).type(_NUMBERS[self.kind](field))
        except (ValueError, OverflowError):
            what = f"Field {self.number} in record {record} is not a valid {self.kind}."
            raise _misfit(what, field) from None

    def tensor(self, found: list[Any], shape: Any) -> Any:
        if self.kind == "string":
            return text(np.array(found, object).reshape(shape))
        return jnp.asarray(np.array(found, self.kind).reshape(shape))


def _column(number: int, given: Any) -> _Column:
    values = np.asarray(tensor(given)).ravel()
    kind = "string" if values.dtype.kind == "O" else values.dtype.name
    if len(values) > 1 or kind not in ("string", *_NUMBERS):
        what = "A column's default is one number or text, or empty where each line must have one."
        raise InvalidArgumentError(
            explain(
                what,
                got=f"{given!r} for column {number}",
                fix="give each column one int, float or text.",
            )
        )
    return _Column(number, kind, tuple(values))


def _wanted(select_cols: Any, num_columns: int) -> list[int] | None:
    if select_cols is None:
        return None
    wanted = [int(one) for one in select_cols]
    if len(wanted) != num_columns:
        raise ValueError("Length of select_cols and record_defaults do not match.")
    if any(b <= a for a, b in itertools.pairwise(wanted)):
        raise ValueError("select_cols is not strictly increasing.")
    return wanted


def _picked(fields: Iterator[bytes], wanted: list[int] | None) -> list[bytes]:
    if wanted is None:
        return list(fields)
    last = wanted[-1] if wanted else -1
    numbered = zip(range(last + 1), fields, strict=False)  # what comes after is not looked at
    return [field for number, field in numbered if number in wanted]


def _fields(line: bytes, delim: str, quotes: bool) -> Iterator[bytes]:
    pattern, at = _pattern(delim, quotes), 0
    while at < len(line):
        if line[at : at + 1] in b"\r\n":
            at += 1
            continue
        found = pattern.match(line, at)
        if found is None:
            what = "A field with quotes or line ends inside has to be in quotes, quotes doubled."
            raise _misfit(what, line[at:])
        quoted, plain = found.groups()
        yield plain if quoted is None else quoted.replace(b'""', b'"')
        at = found.end()
    if line.endswith(delim.encode()):
        yield b""


@cache
def _pattern(delim: str, quotes: bool) -> re.Pattern[bytes]:
    if len(delim.encode()) != 1:
        raise InvalidArgumentError(
            explain("field_delim is one character.", got=repr(delim), fix="give one, such as ','.")
        )
    end = re.escape(delim.encode())
    quoted = rb'"((?:[^"]|"")*)"' if quotes else rb"((?!))"  # the latter never
    plain = rb'([^%s\r\n"]*)' if quotes else rb"([^%s\r\n]*)"
    return re.compile(rb"(?:%s|%s)(?:%s|\Z)" % (quoted, plain % end, end))


def _misfit(what: str, field: bytes) -> InvalidArgumentError:
    return InvalidArgumentError(
        explain(
            what,
            got=repr(field[:80]),
            fix="mend the line, or change record_defaults, field_delim or use_quote_delim.",
        )
    )
