"""What a worker of the tests runs: every case of the oracle, in float64, on all processes.

    TF_CONFIG=… python -m tests.cluster.training_program OUT [case …]

Each worker has another random seed, but for process 0: it is process 0's numbers that count.
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import manyhands as mh

strategy = mh.MultiWorkerMirroredStrategy()

import jax  # noqa: E402
import keras  # noqa: E402
from keras.src.backend.common import dtypes  # noqa: E402

from tests.equality.cases import BY_NAME  # noqa: E402
from tests.oracle import train_in  # noqa: E402


def main() -> None:
    out, names = Path(sys.argv[1]), sys.argv[2:] or list(BY_NAME)
    jax.config.update("jax_enable_x64", True)
    dtypes.BIT64_TO_BIT32_DTYPE["float64"] = "float64"
    keras.config.set_floatx("float64")
    keras.config.set_dtype_policy("float64")
    index = strategy.group.index
    for name in names:
        outcome = train_in(strategy.scope(), BY_NAME[name], seed=7 + index)
        (out / f"{name}-{index}.pickle").write_bytes(pickle.dumps(outcome))
    print(f"trained {len(names)} on {strategy.num_replicas_in_sync} replicas")


if __name__ == "__main__":
    main()
