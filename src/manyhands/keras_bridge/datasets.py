"""Keras' `fit`, `evaluate` and `predict`, given a manyhands Dataset or a distributed one.

In: whatever Keras makes a data adapter for.  Out: ours for our datasets, Keras' own for the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from keras.src.trainers import data_adapters
from keras.src.trainers.data_adapters import data_adapter_utils
from keras.src.trainers.data_adapters.data_adapter import DataAdapter

from manyhands.cluster import joined
from manyhands.data.dataset import AutoShardPolicy, Core
from manyhands.data.dataset.own_batch import Part
from manyhands.data.dataset.sharding import ShareOf, cut, share_of
from manyhands.errors import DataError, explain
from manyhands.keras_bridge.patching import Patch


class DatasetAdapter(DataAdapter):
    """Batches of a dataset, as they come."""

    def __init__(self, dataset: Any, class_weight: Any) -> None:
        self._dataset = dataset
        self._class_weight = class_weight

    def get_numpy_iterator(self) -> Iterator[Any]:
        """Start a pass."""
        return DatasetBatches(iter(_host_batches(self._dataset)), "common", self._weighted)

    def get_jax_iterator(self) -> Iterator[Any]:
        """Start a pass."""
        return self.get_numpy_iterator()

    def own_iterator(self, index: int, size: int, rows: ShareOf) -> Iterator[Any]:
        """Start a pass over what one of several processes reads."""
        if not isinstance(self._dataset, Core):
            batches, kind = self._dataset.own_batches()
            return DatasetBatches(batches, kind, self._weighted)
        share = share_of(self._dataset, index, size, rows)
        batches = cut(share.open(), rows) if share.kind == "own" else share.open()
        return DatasetBatches(batches, share.kind, self._weighted)

    @property
    def num_batches(self) -> int | None:
        """How many batches a pass has; None where nobody knows."""
        if self.reads_alone:
            return None  # how many steps there are depends on what the others have
        count = int(self._dataset.cardinality())
        return count if count >= 0 else None

    @property
    def reads_alone(self) -> bool:
        """Whether each of several processes reads batches of its own."""
        if joined() is None:
            return False
        dataset = self._dataset
        if not isinstance(dataset, Core):
            if dataset.is_per_replica:
                return True
            dataset = dataset.dataset
        if not isinstance(dataset, Core):
            return False
        policy = dataset.options().experimental_distribute.auto_shard_policy
        return policy not in (AutoShardPolicy.AUTO, AutoShardPolicy.DATA)

    @property
    def batch_size(self) -> int | None:
        """Nobody knows."""
        return None

    @property
    def has_partial_batch(self) -> bool | None:
        """Nobody knows."""
        return None

    @property
    def partial_batch_size(self) -> int | None:
        """Nobody knows."""
        return None

    def _weighted(self, batch: Any) -> Any:
        if self._class_weight is None:
            return batch
        batch = batch if isinstance(batch, tuple) else (batch,)
        if len(batch) != 2:
            raise DataError(
                explain(
                    "class_weight needs batches of x and y.",
                    got=f"batches of {len(batch)} parts",
                    fix="leave class_weight out, or give sample weights in the dataset.",
                )
            )
        x, y = batch
        weights = data_adapter_utils.class_weight_to_sample_weights(y, self._class_weight)
        return x, y, weights


class DatasetBatches:
    """One pass over a dataset's batches; its position can be saved where the dataset's can.

    `kind` says what they are to several processes: "common", "parts" of common ones, or "own".
    """

    def __init__(self, batches: Any, kind: str, weighted: Callable[[Any], Any]) -> None:
        self.kind = kind
        self._batches = batches
        self._weighted = weighted
        if hasattr(batches, "get_state"):
            self.get_state = batches.get_state
            self.set_state = batches.set_state

    def __iter__(self) -> DatasetBatches:
        return self

    def __next__(self) -> Any:
        batch = next(self._batches)
        if isinstance(batch, Part):
            return Part((self._weighted(batch[0]), batch[1]))
        return self._weighted(batch)


def _host_batches(dataset: Any) -> Iterable[Any]:
    return dataset.as_numpy_iterator() if isinstance(dataset, Core) else dataset.global_batches()


def _adapter(original: Any) -> Any:
    def get_data_adapter(x: Any, y: Any = None, sample_weight: Any = None, **given: Any) -> Any:
        if not isinstance(x, Core) and not hasattr(x, "global_batches"):
            return original(x, y, sample_weight=sample_weight, **given)
        for name, value in (("y", y), ("sample_weight", sample_weight)):
            if value is not None:
                raise DataError(
                    explain(
                        f"A dataset brings its own {name}.",
                        got=f"a dataset and {name}",
                        fix=f"leave {name} out, and let the dataset give (x, y) or "
                        "(x, y, sample_weight).",
                    )
                )
        return DatasetAdapter(x, given.get("class_weight"))

    return get_data_adapter


PATCHES = [Patch(data_adapters, "get_data_adapter", _adapter, "`fit` takes our datasets")]
