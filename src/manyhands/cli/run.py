"""`manyhands run`: run a TensorFlow program as it stands."""

from __future__ import annotations

import argparse
import runpy
import sys
import traceback
from pathlib import Path
from typing import Any

from manyhands import config
from manyhands.errors import ManyhandsError, explain


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "run",
        help="run a TensorFlow or Keras program on every device, as it stands",
        description="Options come before the script; everything after it is its own.",
    )
    parser.add_argument("--devices", type=int, metavar="N", help="N virtual CPU devices")
    parser.add_argument(
        "--no-shim", action="store_true", help="leave `import tensorflow` to TensorFlow itself"
    )
    parser.add_argument("script", help="the program, a .py file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the program's own arguments")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the program in this process, as `python script.py` would."""
    script = Path(options.script)
    if not script.is_file():
        raise ManyhandsError(
            explain(
                "There is no such program.",
                got=str(script),
                fix="pass the path of a Python file: manyhands run train.py",
            )
        )
    if options.devices is not None:
        config.set_virtual_devices(options.devices)
    if not options.no_shim:
        from manyhands.tf import hook

        hook.install()
    sys.argv = [str(script), *options.arguments]
    sys.path.insert(0, str(script.resolve().parent))
    try:
        runpy.run_path(str(script), run_name="__main__")
    except ManyhandsError:
        traceback.print_exc()  # the program's own lines say where
        return 1
    return 0
