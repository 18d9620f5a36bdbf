"""What a batch that does not divide costs: 127 rows on 8 devices against 128.

python -m bench.uneven
"""

from __future__ import annotations

import json
from pathlib import Path

from bench.machine import describe
from bench.timing import seconds_per_step

RESULT = Path(__file__).parent / "results" / "uneven.json"
STEPS, WIDTH = 40, 512


def main() -> None:
    import manyhands as mh

    mh.config.set_virtual_devices(8)
    import keras
    import numpy as np

    rows = {}
    for batch_size in (128, 127, 121, 9, 8):
        keras.utils.set_random_seed(0)
        with mh.MirroredStrategy().scope():
            model = keras.Sequential([keras.Input((WIDTH,)), keras.layers.Dense(WIDTH, "relu")])
        model.compile("sgd", "mse")
        x = np.random.rand(STEPS * batch_size, WIDTH).astype("float32")
        model.fit(x, x, batch_size=batch_size, verbose=0)

        def run(model=model, x=x, batch_size=batch_size) -> int:
            model.fit(x, x, batch_size=batch_size, epochs=5, verbose=0)
            return 5 * STEPS

        rows[batch_size] = round(seconds_per_step(run) * 1e3, 3)
        print(f"batch {batch_size:4d} on 8 devices: {rows[batch_size]:.3f} ms a step")
    print(f"127 takes {rows[127] / rows[128]:.2f} times as long as 128")
    found = {"command": "python -m bench.uneven", "machine": describe(), "ms_per_step": rows}
    RESULT.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
