"""`manyhands check`: what of TensorFlow a program uses, and whether it is here."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding

from manyhands.errors import ManyhandsError, explain

_COLOURS = {"missing": "red", "translated": "yellow", "supported": "green"}
_STATUSES = list(_COLOURS)
"""What needs a look comes first."""
_ENDINGS = (".py", ".ipynb")


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "check", help="list the TensorFlow names a program uses, without running it"
    )
    parser.add_argument("--all", action="store_true", help="show supported names, too")
    parser.add_argument("--json", action="store_true", help="everything, for scripts")
    parser.add_argument(
        "scripts", nargs="+", metavar="script", help="Python files, notebooks, or folders of them"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Show the names; 1 if any is missing, or if something could not be read."""
    found: dict[str, list[Any]] = {}
    errors: list[ManyhandsError] = []
    for script in _files(options.scripts, errors):
        uses, wrong = _read(script)
        errors += wrong
        if uses is not None:
            found[str(script)] = uses
    if options.json:
        print(json.dumps({s: [asdict(use) for use in uses] for s, uses in found.items()}, indent=2))
    else:
        for script, uses in found.items():
            _show(script, uses, options.all)
    for error in errors:
        print(f"manyhands: {error}", file=sys.stderr)
    missing = any(use.status == "missing" for uses in found.values() for use in uses)
    return int(missing or bool(errors))


def _files(given: list[str], errors: list[ManyhandsError]) -> Iterator[Path]:
    """Give each file, and of a folder the programs and notebooks in it."""
    for path in map(Path, given):
        if not path.is_dir():
            yield path
            continue
        inside = list(_programs_in(path))
        if not inside:
            errors.append(
                ManyhandsError(
                    explain(
                        "There is no program in the folder.",
                        got=str(path),
                        fix="name a folder with .py or .ipynb files in it.",
                    )
                )
            )
        yield from inside


def _programs_in(folder: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder):  # which follows no links, so no circles
        folders[:] = sorted(name for name in folders if _may_hold_programs(Path(root, name)))
        yield from (Path(root, name) for name in sorted(files) if name.endswith(_ENDINGS))


def _may_hold_programs(folder: Path) -> bool:
    hidden = folder.name.startswith(".") or folder.name == "__pycache__"
    return not hidden and not (folder / "pyvenv.cfg").exists()


def _read(script: Path) -> tuple[list[Any] | None, list[ManyhandsError]]:
    """Give the uses in a file, None where nothing of it can be read, and what is wrong with it."""
    from manyhands.tf.names_used import names_used_in
    from manyhands.tf.program_text import Piece, pieces_of

    found = list(pieces_of(script))
    pieces = [piece for piece in found if isinstance(piece, Piece)]
    errors = [piece for piece in found if isinstance(piece, ManyhandsError)]
    return (names_used_in(pieces) if pieces or not errors else None), errors


def _show(script: str, uses: list[Any], with_supported: bool) -> None:
    console = Console()
    console.print(escape(script), style="bold")
    shown = _STATUSES if with_supported else _STATUSES[:2]
    for status in shown:
        for name, note, lines in _together(use for use in uses if use.status == status):
            where = _where(lines)
            # A name stays whole: it is there to be searched for.
            said = f"  [{_COLOURS[status]}]{status}[/]  {escape(name)}  [dim]{where}[/]"
            console.print(said, soft_wrap=True, highlight=False)
            if note:
                console.print(Padding(escape(note), (0, 0, 0, 6), expand=False), highlight=False)
    counts = Counter(use.status for use in uses)
    if counts["supported"] and not with_supported:
        console.print(f"  {counts['supported']} supported uses are not shown; --all shows them.")
    console.print(
        f"{len(uses)} uses: {counts['supported']} supported, {counts['translated']} translated, "
        f"{counts['missing']} missing."
    )


def _together(uses: Iterable[Any]) -> list[tuple[str, str, list[tuple[int | None, int]]]]:
    """Put the places of one name together, names in the order they are first used."""
    places: dict[tuple[str, str], list[tuple[int | None, int]]] = {}
    for use in uses:
        places.setdefault((use.name, use.note), []).append((use.cell, use.line))
    return [(name, note, found) for (name, note), found in places.items()]


def _where(places: list[tuple[int | None, int]]) -> str:
    """Say the lines, cell by cell where there are cells."""
    by_cell: dict[int | None, list[int]] = {}
    for cell, line in places:
        by_cell.setdefault(cell, []).append(line)
    return "; ".join(
        ("" if cell is None else f"cell {cell}, ")
        + f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))}"
        for cell, lines in by_cell.items()
    )
