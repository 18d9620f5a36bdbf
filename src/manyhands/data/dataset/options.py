"""tf.data's options, as values to be set and read.

In: attributes, in TensorFlow's spelling.  Out: the same; `auto_shard_policy` is what distribution
asks for, the rest is accepted so that programs run as they stand.
"""

from __future__ import annotations

import enum
from types import SimpleNamespace
from typing import Any

SHARD_HINT = -1
HINT_TITLE = "shard(SHARD_HINT)"


class AutoShardPolicy(enum.IntEnum):
    """How a dataset is divided between processes."""

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


class ThreadingOptions(SimpleNamespace):
    """Threads, as TensorFlow names them; ours are chosen by each stage."""

    max_intra_op_parallelism: int | None = None
    private_threadpool_size: int | None = None


class DistributeOptions(SimpleNamespace):
    """How a dataset is distributed."""

    auto_shard_policy: AutoShardPolicy = AutoShardPolicy.AUTO
    num_devices: int | None = None


class Options(SimpleNamespace):
    """Options of a dataset."""

    deterministic: bool | None = None
    experimental_deterministic: bool | None = None
    experimental_slack: bool | None = None
    dataset_name: str | None = None

    def __init__(self, **given: Any) -> None:
        self.experimental_distribute = DistributeOptions()
        self.experimental_optimization = SimpleNamespace()
        self.threading = self.experimental_threading = ThreadingOptions()
        self.autotune = SimpleNamespace(enabled=None, cpu_budget=None, ram_budget=None)
        super().__init__(**given)

    def merge(self, other: Options) -> Options:
        """Give these options, changed by what the other one sets."""
        merged = Options(**vars(self))
        for name, value in vars(other).items():
            if isinstance(value, SimpleNamespace):
                both = vars(getattr(merged, name, SimpleNamespace())) | vars(value)
                setattr(merged, name, type(value)(**both))
            else:
                setattr(merged, name, value)
        return merged
