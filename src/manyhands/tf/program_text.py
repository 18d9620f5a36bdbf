"""The Python of a file, as a tree: a program's, or a notebook's cells.

In: a path.  Out: Pieces, each a tree with the cell it came from; or an error that says what to do.
Decodes as Python does (a mark at the beginning, a coding line).  Runs nothing.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from manyhands.errors import ManyhandsError, explain

_MAGIC = re.compile(r"^(\s*)(?:%{1,2}\w|!|\?|[\w.*]+\?{1,2}\s*$|[\w, ]+=\s*(?:!|%\w))")
"""A line that Jupyter reads, not Python: %magic, !shell, ?help, help?, x = !shell."""
_OF_PYTHON = re.compile(r"\s*%%(?:time|timeit|capture|prun)\b.*\n?")
"""The first line of a cell whose other lines are Python."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Python that stands together."""

    tree: ast.Module
    cell: int | None = None
    """Which cell of a notebook, counted from 1."""


def pieces_of(path: Path) -> Iterator[Piece | ManyhandsError]:
    """Read a file; an error in the place of each piece that cannot be read."""
    try:
        content = path.read_bytes()
    except OSError as error:
        yield ManyhandsError(
            explain("The program cannot be read.", got=f"{path}: {error}", fix="check the path.")
        )
        return
    if path.suffix == ".ipynb":
        yield from _cells(content, path)
    else:
        yield _piece(content, str(path))


def _piece(source: str | bytes, where: str, cell: int | None = None) -> Piece | ManyhandsError:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the program's own style
            return Piece(ast.parse(source, where), cell)
    except SyntaxError as error:
        line = f", line {error.lineno}" if error.lineno else ""
        return _unreadable(f"{where}{line}: {error.msg}", str(error.msg))
    except (RecursionError, MemoryError):
        return _unreadable(f"{where}: an expression nested too deeply for Python", "")
    except ValueError as error:  # null bytes, and bytes that are no text
        return _unreadable(f"{where}: {error}", str(error))


def _unreadable(got: str, message: str) -> ManyhandsError:
    fix = "make it run with Python 3.11 or newer first."
    if "codec" in message or "encoding" in message:
        fix = "save it as UTF-8, or say how it is coded in its first line: # coding: latin-1"
    return ManyhandsError(
        explain("The program is not Python that can be read.", got=got, fix=fix),
    )


# notebooks


def _cells(content: bytes, path: Path) -> Iterator[Piece | ManyhandsError]:
    try:
        notebook = json.loads(content.decode("utf-8-sig"))
        found = [(number, _source(cell)) for number, cell in enumerate(_listed(notebook), 1)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        yield ManyhandsError(
            explain(
                "The notebook cannot be read.",
                got=f"{path}: {_why(error)}",
                fix="save it again from Jupyter, or export it: jupyter nbconvert --to script.",
            )
        )
        return
    for number, source in found:
        if source is not None:
            yield _cell(source, f"{path}, cell {number}", number)


def _why(error: Exception) -> str:
    return str(error) if isinstance(error, ValueError) else "JSON, but not that of a notebook"


def _listed(notebook: Any) -> list[Any]:
    """List the cells, also of the older kind that keeps them in worksheets."""
    if "cells" in notebook:
        return list(notebook["cells"])
    return [cell for sheet in notebook["worksheets"] for cell in sheet["cells"]]


def _source(cell: Any) -> str | None:
    """Give the text of a cell of code, None for any other."""
    if cell["cell_type"] != "code":
        return None
    source = cell["source"] if "source" in cell else cell["input"]
    return source if isinstance(source, str) else "".join(source)


def _cell(source: str, where: str, number: int) -> Piece | ManyhandsError:
    if source.lstrip().startswith("%%"):
        first = _OF_PYTHON.match(source)
        if first is None:
            return Piece(ast.Module([], []), number)  # another language
        source = "\n" * first.group().count("\n") + source[first.end() :]
    as_it_is = _piece(source, where, number)
    if isinstance(as_it_is, Piece):
        return as_it_is
    return _piece(_without_magic(source), where, number)


def _without_magic(source: str) -> str:
    lines, continued = [], False
    for line in source.splitlines():
        found = _MAGIC.match(line)
        if found is not None or continued:
            indent = found[1] if found is not None else ""
            lines.append("" if continued else f"{indent}pass")
            continued = line.rstrip().endswith("\\")
        else:
            lines.append(line)
    return "\n".join(lines)
