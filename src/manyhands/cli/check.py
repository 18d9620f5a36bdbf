"""`manyhands check`: what of TensorFlow a program uses, and whether it is here."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable
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


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "check", help="list the TensorFlow names a program uses, without running it"
    )
    parser.add_argument("--all", action="store_true", help="show supported names, too")
    parser.add_argument("--json", action="store_true", help="everything, for scripts")
    parser.add_argument("scripts", nargs="+", metavar="script", help="Python files")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Show the names; 1 if any is missing."""
    found = {script: _read(script) for script in options.scripts}
    if options.json:
        print(json.dumps({s: [asdict(use) for use in uses] for s, uses in found.items()}, indent=2))
    else:
        for script, uses in found.items():
            _show(script, uses, options.all)
    return int(any(use.status == "missing" for uses in found.values() for use in uses))


def _read(script: str) -> list[Any]:
    from manyhands.tf.names_used import names_used

    try:
        return names_used(Path(script).read_text(encoding="utf-8"), script)
    except OSError as error:
        raise ManyhandsError(
            explain("The program cannot be read.", got=f"{script}: {error}", fix="check the path.")
        ) from error
    except SyntaxError as error:
        raise ManyhandsError(
            explain(
                "The program is not Python that can be read.",
                got=f"{script}, line {error.lineno}: {error.msg}",
                fix="make it run with Python 3.11 or newer first.",
            )
        ) from error


def _show(script: str, uses: list[Any], with_supported: bool) -> None:
    console = Console()
    console.print(escape(script), style="bold")
    shown = _STATUSES if with_supported else _STATUSES[:2]
    for status in shown:
        for name, note, lines in _together(use for use in uses if use.status == status):
            where = f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))}"
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


def _together(uses: Iterable[Any]) -> list[tuple[str, str, list[int]]]:
    """Put the lines of one name together, names in the order they are first used."""
    lines: dict[tuple[str, str], list[int]] = {}
    for use in uses:
        lines.setdefault((use.name, use.note), []).append(use.line)
    return [(name, note, found) for (name, note), found in lines.items()]
