"""What is measured: three models, and how much data each is measured on.

In: a name.  Out: a Work, whose data starts as host NumPy arrays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Work:
    name: str
    batch_size: int
    num_rows: int
    epochs: int
    unit: str
    units_per_row: int = 1
    data_on_device: str = "auto"

    @property
    def steps_per_epoch(self) -> int:
        return -(-self.num_rows // self.batch_size)

    def data(self) -> tuple[np.ndarray, np.ndarray]:
        return _MAKERS[self.name.split("-")[0]](self.name, self.num_rows)

    def one_batch(self) -> tuple[np.ndarray, np.ndarray]:
        return _MAKERS[self.name.split("-")[0]](self.name, self.batch_size)


def _mlp(name: str, num_rows: int):  # noqa: ARG001
    rng = np.random.default_rng(0)
    x = rng.random((num_rows, 784), dtype=np.float32)
    return x, rng.integers(0, 10, num_rows).astype("int32")


def _resnet50(name: str, num_rows: int):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (num_rows, 224, 224, 3), dtype=np.uint8)
    if "uint8" not in name:
        x = np.multiply(x, np.float32(1 / 255), dtype=np.float32)
    return x, rng.integers(0, 1000, num_rows).astype("int32")


def _gpt2(name: str, num_rows: int):  # noqa: ARG001
    rng = np.random.default_rng(0)
    tokens = rng.integers(0, 50257, (num_rows, 1025)).astype("int32")
    return np.ascontiguousarray(tokens[:, :-1]), np.ascontiguousarray(tokens[:, 1:])


_MAKERS = {"mlp": _mlp, "resnet50": _resnet50, "gpt2": _gpt2}

WORKS = {
    work.name: work
    for work in (
        Work("mlp", 128, 60_000, 5, "rows"),
        Work("mlp-fed", 128, 60_000, 5, "rows", data_on_device="never"),
        Work("resnet50", 256, 15_360, 3, "img"),
        Work("resnet50-uint8", 256, 15_360, 3, "img"),
        Work("gpt2", 32, 1_280, 3, "tok", units_per_row=1024),
    )
}
