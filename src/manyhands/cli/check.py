"""`manyhands check`: what of TensorFlow a program uses, and whether it is here."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from manyhands.errors import ManyhandsError, explain

_COLOURS = {"supported": "green", "translated": "yellow", "missing": "red"}


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "check", help="list the TensorFlow names a program uses, without running it"
    )
    parser.add_argument("--json", action="store_true", help="for scripts")
    parser.add_argument("scripts", nargs="+", metavar="script", help="Python files")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Show the names; 1 if any is missing."""
    found = {script: _read(script) for script in options.scripts}
    if options.json:
        print(json.dumps({s: [asdict(use) for use in uses] for s, uses in found.items()}, indent=2))
    else:
        for script, uses in found.items():
            _show(script, uses)
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


def _show(script: str, uses: list[Any]) -> None:
    console = Console()
    table = Table("line", title=escape(script))
    table.add_column("name", overflow="fold", ratio=1)
    table.add_column("status")
    table.add_column("what changes, or what to use", ratio=1)
    for use in uses:
        colour = _COLOURS[use.status]
        table.add_row(str(use.line), use.name, f"[{colour}]{use.status}[/]", escape(use.note))
    console.print(table)
    counts = Counter(use.status for use in uses)
    console.print(
        f"{len(uses)} uses: {counts['supported']} supported, {counts['translated']} translated, "
        f"{counts['missing']} missing."
    )
