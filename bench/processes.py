"""Two processes with a device each, against one process with two devices.

python -m bench.processes

The same `fit` three times: one device, two devices of one process (XLA's own all-reduce, in
memory), two processes (Gloo, over loopback).  Prints milliseconds a step of each.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from typing import Any

from bench.__main__ import RESULTS
from bench.machine import describe

WAYS = {
    "one_device": ["--processes", "1"],
    "two_devices": ["--processes", "1", "--devices", "2"],
    "two_processes": ["--processes", "2"],
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.processes", description=__doc__)
    parser.add_argument("--name", default="processes", help="name of the result file")
    options = parser.parse_args()
    found: dict[str, Any] = {}
    for width, layers in ((64, 2), (512, 4), (1024, 8)):
        found[f"{layers} layers of {width}"] = {
            way: measured(how, width, layers) for way, how in WAYS.items()
        }
        print(json.dumps(found), flush=True)
    result = {"command": "python -m bench.processes", "machine": describe(), "step_ms": found}
    (RESULTS / f"{options.name}.json").write_text(json.dumps(result, indent=1) + "\n")


def measured(how: list[str], width: int, layers: int) -> float:
    command = [sys.executable, "-m", "manyhands.cli.main", "run", "--no-shim", *how]
    done = subprocess.run(
        [*command, __file__.replace("processes.py", "process_worker.py"), str(width), str(layers)],
        capture_output=True,
        text=True,
        check=True,
    )
    line = next(line for line in done.stdout.splitlines() if "step_ms" in line)
    return json.loads(line[line.index("{") :])["step_ms"]


if __name__ == "__main__":
    main()
