"""Measure manyhands and its rivals in one run, print a table, write it to bench/results/.

python -m bench                                   what fits this machine
python -m bench --works mlp --rivals ours keras_fit --devices 4
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import tf_environment
from bench.machine import describe
from bench.works import WORKS

RIVALS = [
    "ours",
    "keras_fit",
    "keras_step",
    "jax_loop",
    "data_parallel",
    "torch_compiled",
    "tf_distribute",
]
RESULTS = Path(__file__).parent / "results"


def main() -> None:
    options = _options()
    machine = describe()
    RESULTS.mkdir(exist_ok=True)
    out = RESULTS / f"{options.name or machine['name']}.json"
    command = " ".join(["python -m bench", *sys.argv[1:]])
    rows = []
    for name in options.works or _fitting_works(machine):
        for rival in options.rivals or _fitting_rivals(machine, name, options.devices):
            rows.append(_measured(rival, name, options.devices))
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
            found = {"command": command, "machine": machine, "rows": rows}
            out.write_text(json.dumps(found, indent=1) + "\n")
    _show(rows)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--works", nargs="+", choices=sorted(WORKS))
    parser.add_argument("--rivals", nargs="+", choices=RIVALS)
    parser.add_argument("--devices", type=int, default=0, help="virtual CPU devices")
    parser.add_argument("--name", help="name of the result file")
    return parser.parse_args()


def _fitting_works(machine: dict) -> list[str]:
    return list(WORKS) if machine["gpus"] else ["mlp", "mlp-fed"]


def _fitting_rivals(machine: dict, name: str, devices: int) -> list[str]:
    if "-" in name:
        return ["ours"]  # another way to feed the same model
    rivals = ["ours", "keras_fit", "keras_step"]
    if name == "mlp":
        rivals.append("jax_loop")
    if devices > 1 or len(machine["gpus"]) > 1:
        rivals.append("data_parallel")
    if machine["gpus"] and machine["versions"].get("torch"):
        rivals.append("torch_compiled")
    if not machine["gpus"] and name == "mlp":
        rivals.append("tf_distribute")
    return rivals


def _measured(rival: str, name: str, devices: int) -> dict:
    python, environment = sys.executable, dict(os.environ, KERAS_BACKEND="jax")
    if rival == "tf_distribute":
        python = tf_environment.python()
        environment["KERAS_BACKEND"] = "tensorflow"
    work, row = WORKS[name], {"work": name, "rival": rival, "devices": devices or None}
    done = subprocess.run(
        [python, "-m", "bench.worker", rival, name, str(devices)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return row | {"error": done.stderr.strip().splitlines()[-1:] or ["killed"]}
    result = json.loads(done.stdout.strip().splitlines()[-1])
    rate = work.batch_size * work.units_per_row / result["step_s"]
    return row | {
        "ms_per_step": round(result["step_s"] * 1e3, 4),
        "per_s": round(rate),
        "unit": work.unit,
        "peak_gib": result["peak_bytes"] and round(result["peak_bytes"] / 2**30, 1),
    }


def _show(rows: list[dict]) -> None:
    table = Table("work", "rival", "ms/step", "per second", "peak GiB", "ours is")
    ours = {row["work"]: row.get("ms_per_step") for row in rows if row["rival"] == "ours"}
    for row in rows:
        if "error" in row:
            table.add_row(row["work"], row["rival"], "failed", str(row["error"])[:60], "", "")
            continue
        base = ours.get(row["work"])
        ratio = f"{row['ms_per_step'] / base:.2f}x as fast" if base else ""
        speed = f"{row['per_s']:,} {row['unit']}"
        peak = str(row["peak_gib"] or "")
        table.add_row(row["work"], row["rival"], f"{row['ms_per_step']:.3f}", speed, peak, ratio)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
