"""How many all-reduces one training step has, and how large they are, on several GPUs.

python -m bench.buckets         the step of `fit`, compiled for eight of the GPU that is here

XLA compiles for GPUs that are not there: JAX pretends seven more like the one it found.  Nothing
runs, so this says what would be sent, not how long that takes.  On a CPU: eight virtual devices.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from typing import Any

import manyhands as mh
from bench.__main__ import RESULTS
from bench.machine import describe

NUM_DEVICES = 8
BYTES = {"f32": 4, "bf16": 2, "f16": 2, "s32": 4, "u32": 4, "pred": 1, "f64": 8}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.buckets", description=__doc__)
    parser.add_argument("--name", default="buckets", help="name of the result file")
    parser.add_argument("works", nargs="*", default=["mlp", "resnet50", "gpt2"])
    options = parser.parse_args()
    devices = pretend()
    found = {work: sent_by(work, devices) for work in options.works}
    result = {"command": "python -m bench.buckets", "machine": describe(), "step": found}
    (RESULTS / f"{options.name}.json").write_text(json.dumps(result, indent=1) + "\n")


def pretend() -> list[Any]:
    """Give eight devices, of which one is here."""
    import jax

    jax.config.update("jax_mock_gpu_topology", f"1x1x{NUM_DEVICES}")
    jax.config.update("jax_num_cpu_devices", NUM_DEVICES)
    return jax.devices()


def sent_by(work: str, devices: list[Any]) -> dict[str, Any]:
    from bench.keras_models import build
    from bench.works import WORKS
    from manyhands.engine import Placement, SpmdProgram, keras_inside, layout_of, lift, spmd

    spmd.agreement_on = lambda _: None  # the other processes are pretended, and cannot be asked
    with mh.MirroredStrategy([devices[0]]).scope():
        model = build(work)
    x, y = WORKS[work].one_batch()
    keras_inside.bind(model, None)
    if not model.built:
        model.build(x.shape)
    model.optimizer.build(model.trainable_variables)
    placement = Placement(tuple(devices))
    program = SpmdProgram(lift(model, "train"), placement)
    batch = (x, y, None)
    state = keras_inside.get_state(model, "train")
    layout = layout_of(batch, placement.num_replicas)
    text = program.traced(state, layout, batch).lower().compile().as_text()
    sizes = sorted(all_reduces(text), reverse=True)
    weights = sum(math.prod(w.shape) * 4 for w in model.trainable_variables)
    told = {
        "variables": len(model.trainable_variables),
        "weights_mb": round(weights / 1e6, 2),
        "all_reduces": len(sizes),
        "sizes_mb": [round(size / 1e6, 3) for size in sizes[:12]],
        "sent_mb": round(sum(sizes) / 1e6, 2),
    }
    print(work, json.dumps(told), flush=True)
    return told


def all_reduces(text: str) -> list[int]:
    """List the bytes of each all-reduce of a compiled program."""
    sizes = []
    for shapes in re.findall(r"= (.*?) all-reduce(?:-start)?\(", text):
        parts = re.findall(r"([a-z]+[0-9]*)\[([0-9,]*)\]", shapes)
        sizes.append(sum(BYTES[kind] * _count(dims) for kind, dims in parts))
    return sizes


def _count(dims: str) -> int:
    return math.prod(int(dim) for dim in dims.split(",") if dim)


if __name__ == "__main__":
    main()
