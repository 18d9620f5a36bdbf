"""`manyhands run`: run a TensorFlow or Keras program as it stands, in one process or in many."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from manyhands import config
from manyhands.cli import as_python
from manyhands.errors import ManyhandsError, explain


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "run",
        help="run a TensorFlow or Keras program on every device, as it stands",
        description="Options come before the script; everything after it is its own.",
    )
    parser.add_argument("--devices", type=int, metavar="N", help="N virtual CPU devices a process")
    parser.add_argument(
        "--no-shim", action="store_true", help="leave `import tensorflow` to TensorFlow itself"
    )
    many = parser.add_argument_group("several processes")
    many.add_argument("--processes", type=int, metavar="N", help="start N processes here")
    many.add_argument(
        "--per-gpu", action="store_true", help="one process for each GPU; each sees only its own"
    )
    many.add_argument(
        "--memory-limit",
        metavar="M",
        help="GPU memory of each process: a part (0.4), or 20GB, 512MB",
    )
    many.add_argument("--log-dir", type=Path, metavar="DIR", help="one file for each process")
    machines = parser.add_argument_group("several machines, without a scheduler")
    machines.add_argument("--nodes", type=int, default=1, metavar="K", help="how many machines")
    machines.add_argument("--node-rank", type=int, default=0, metavar="R", help="this one's number")
    machines.add_argument("--coordinator", metavar="HOST:PORT", help="where process 0 is")
    survive = parser.add_argument_group("survival")
    survive.add_argument(
        "--max-restarts", type=int, default=0, metavar="N", help="start again so often"
    )
    survive.add_argument(
        "--min-processes", type=int, metavar="M", help="go on with as few where one keeps dying"
    )
    survive.add_argument(
        "--heartbeat", type=int, metavar="S", help="seconds of silence that mean a process hangs"
    )
    survive.add_argument(
        "--timeout", type=int, metavar="S", help="seconds to wait for every process to arrive"
    )
    parser.add_argument(
        "-m", dest="is_module", action="store_true", help="a module's name follows, not a file"
    )
    parser.add_argument("script", help="the program: a .py file, or after -m a module's name")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the program's own arguments")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the program here, or start the processes that do."""
    if not options.is_module and not Path(options.script).is_file():
        raise ManyhandsError(
            explain(
                "There is no such program.",
                got=options.script,
                fix="pass the path of a Python file: manyhands run train.py, or a module's name: "
                "manyhands run -m package.train",
            )
        )
    from manyhands.cli.launch import launch, wants_a_launcher

    if wants_a_launcher(options):
        return launch(options)
    return _run_here(options)


def _run_here(options: argparse.Namespace) -> int:
    """Run the program in this process, as `python script.py` or `python -m module` would."""
    if options.devices is not None:
        config.set_virtual_devices(options.devices)
    if not options.no_shim:
        from manyhands.tf import hook

        hook.install()
        hook.reach_children()
    if options.is_module:
        return as_python.run_module(options.script, options.arguments)
    return as_python.run_script(Path(options.script), options.arguments)
