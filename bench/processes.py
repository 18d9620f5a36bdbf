"""Two processes with a device each, against one process with two devices.

python -m bench.processes

The same `fit` three times: one device, two devices of one process (XLA's own all-reduce, in
memory), two processes (Gloo, over loopback).  Prints milliseconds a step of each, and how long it
takes to sum so many megabytes over the devices, cut into so many arrays.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
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
            way: told("process_worker", how, str(width), str(layers))["step_ms"]
            for way, how in WAYS.items()
        }
        print(json.dumps(found), flush=True)
    reduced = {
        way: told("reduce_worker", how)["reduce_ms"]
        for way, how in WAYS.items()
        if way != "one_device"
    }
    print(json.dumps(reduced), flush=True)
    result = {
        "command": "python -m bench.processes",
        "machine": describe(),
        "step_ms": found,
        "reduce_ms": reduced,
    }
    (RESULTS / f"{options.name}.json").write_text(json.dumps(result, indent=1) + "\n")


def told(worker: str, how: list[str], *arguments: str) -> dict[str, Any]:
    """Run a worker in one process or two; give what process 0 told."""
    command = [sys.executable, "-m", "manyhands.cli.main", "run", "--no-shim", *how]
    script = str(Path(__file__).with_name(f"{worker}.py"))
    done = subprocess.run(
        [*command, script, *arguments], capture_output=True, text=True, check=True
    )
    line = next(line for line in done.stdout.splitlines() if "_ms" in line)
    return json.loads(line[line.index("{") :])


if __name__ == "__main__":
    main()
