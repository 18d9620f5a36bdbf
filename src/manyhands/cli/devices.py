"""`manyhands devices`: one row a device, and how each pair is linked."""

from __future__ import annotations

import argparse
import json
from typing import Any

from rich.console import Console
from rich.table import Table

from manyhands.devices import DeviceTable, table


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("devices", help="show the devices of this machine and their links")
    parser.add_argument("--json", action="store_true", help="for scripts")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Show the devices."""
    found = table()
    if options.json:
        print(json.dumps(found.as_dict(), indent=2))
        return 0
    show(found, Console())
    return 0


def show(found: DeviceTable, console: Console) -> None:
    """Draw the table of devices and, for several, the table of links."""
    for note in found.notes:
        console.print(note, style="yellow", highlight=False, markup=False)
    rows = Table("device", "model", "memory", "free", "busy", "capability")
    for device in found.devices:
        rows.add_row(
            device.name,
            device.model,
            _gib(device.memory_total_bytes),
            _gib(device.memory_free_bytes),
            "" if device.utilisation_percent is None else f"{device.utilisation_percent}%",
            device.compute_capability or "",
        )
    console.print(rows)
    if len(found.devices) > 1:
        console.print(_links(found))


def _links(found: DeviceTable) -> Table:
    links = Table("link", *found.names)
    for one in found.names:
        links.add_row(one, *(found.link(one, other) or "" for other in found.names))
    return links


def _gib(size: int | None) -> str:
    return "" if size is None else f"{size / 2**30:.1f} GiB"
