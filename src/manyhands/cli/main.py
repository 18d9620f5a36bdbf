"""The `manyhands` command: finds the subcommand, turns our errors into exit codes.

Results go to stdout, what went wrong to stderr.  Exit 0 done, 1 failed, 2 misused.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from manyhands._version import __version__
from manyhands.cli import check, demo, devices, run
from manyhands.errors import ManyhandsError

COMMANDS = (devices, demo, run, check)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command."""
    parser = argparse.ArgumentParser(
        prog="manyhands", description="Train one Keras model on every device you have."
    )
    parser.add_argument("--version", action="version", version=f"manyhands {__version__}")
    commands = parser.add_subparsers(metavar="command", required=True)
    for command in COMMANDS:
        command.add_to(commands)
    options = parser.parse_args(arguments)
    try:
        return options.run(options)
    except ManyhandsError as error:
        print(f"manyhands: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("manyhands: stopped.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
