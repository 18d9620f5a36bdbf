"""How many all-reduces one training step has, and how large they are, on several GPUs.

python -m bench.buckets                      the step of `fit`, for eight H200 of one machine
python -m bench.buckets --machines 2 --per-machine 4
python -m bench.buckets --cpu                for eight virtual CPU devices

XLA compiles for GPUs that are not there (gpus_not_here.py), so this says what would be sent, not
how long that takes.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from dataclasses import dataclass
from typing import Any

import manyhands as mh
from bench import gpus_not_here
from bench.__main__ import RESULTS
from bench.machine import describe

BYTES = {"f32": 4, "bf16": 2, "f16": 2, "s32": 4, "u32": 4, "pred": 1, "f64": 8}


@dataclass(frozen=True)
class AllReduce:
    """One all-reduce of a compiled program."""

    num_arrays: int
    size_mb: float


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.buckets", description=__doc__)
    parser.add_argument("--machines", type=int, default=1)
    parser.add_argument("--per-machine", type=int, default=8, help="GPUs of each machine")
    parser.add_argument("--cpu", action="store_true", help="virtual CPU devices, not GPUs")
    parser.add_argument("--name", default="buckets", help="name of the result file")
    parser.add_argument("works", nargs="*", default=["mlp", "resnet50", "gpt2"])
    options = parser.parse_args()
    num_devices = options.machines * options.per_machine
    if options.cpu:
        devices = virtual_devices(num_devices)
    else:
        devices = gpus_not_here.gpus(options.machines, options.per_machine)
    found = {work: sent_by(work, devices) for work in options.works}
    result = {
        "command": f"python -m bench.buckets --machines {options.machines} "
        f"--per-machine {options.per_machine}" + " --cpu" * options.cpu,
        "devices": f"{options.machines} x {options.per_machine} {devices[0].device_kind}",
        "machine": describe(),
        "step": found,
    }
    (RESULTS / f"{options.name}.json").write_text(json.dumps(result, indent=1) + "\n")


def virtual_devices(count: int) -> list[Any]:
    import jax

    mh.config.set_virtual_devices(count)
    return jax.devices("cpu")


def sent_by(work: str, devices: list[Any]) -> dict[str, Any]:
    """Tell what one step of `fit` sends."""
    reduces, variables = compiled(work, devices)
    told = {
        "variables": len(variables),
        "weights_mb": round(sum(math.prod(w.shape) * 4 for w in variables) / 1e6, 2),
        "all_reduces": len(reduces),
        "largest": [(part.num_arrays, round(part.size_mb, 3)) for part in reduces[:10]],
        "sent_mb": round(sum(part.size_mb for part in reduces), 2),
    }
    print(work, json.dumps(told), flush=True)
    return told


def compiled(work: str, devices: list[Any]) -> tuple[list[AllReduce], list[Any]]:
    """Compile a step; list its all-reduces, the largest first, and the model's variables."""
    from bench.keras_models import build
    from bench.works import WORKS
    from manyhands import keras_bridge
    from manyhands.engine import SpmdEngine, replicated, spmd
    from manyhands.keras_bridge import lift

    spmd.agreement_on = lambda _: None  # there are no other processes to ask
    with mh.MirroredStrategy(["cpu:0"]).scope():
        model = build(work)
    x, y = WORKS[work].one_batch()
    keras_bridge.bind(model, None)
    model(x[:1])
    model.optimizer.build(model.trainable_variables)
    program = SpmdEngine(replicated(tuple(devices))).compile(lift(model, "train"))
    batch = (x, y, None)
    state = keras_bridge.get_state(model, "train")
    text = program.traced(state, program.rows.spec(batch), batch).lower().compile().as_text()
    reduces = sorted(all_reduces(text), key=lambda part: part.size_mb, reverse=True)
    return reduces, model.trainable_variables


def all_reduces(text: str) -> list[AllReduce]:
    """Read the all-reduces of a compiled program as XLA prints it."""
    found = []
    for shapes, start in re.findall(r"= (.*?) all-reduce(-start)?\(", text):
        sizes = [
            BYTES[kind] * math.prod(int(dim) for dim in dims.split(",") if dim)
            for kind, dims in re.findall(r"([a-z]+[0-9]*)\[([0-9,]*)\]", shapes)
        ]
        if start and shapes.startswith("(("):  # both what goes in and what comes out
            sizes = sizes[: len(sizes) // 2]
        found.append(AllReduce(len(sizes), sum(sizes) / 1e6))
    return found


if __name__ == "__main__":
    main()
