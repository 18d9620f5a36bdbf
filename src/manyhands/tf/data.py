"""tf.data: manyhands' Dataset, whose elements are tensors."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from manyhands.data import dataset as native
from manyhands.data.dataset import (
    AUTOTUNE,
    INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY,
    AutoShardPolicy,
    DistributeOptions,
    Options,
    ThreadingOptions,
)
from manyhands.data.dataset.optional import Optional
from manyhands.data.dataset.options import SHARD_HINT
from manyhands.strategies.distributed_dataset import refuse_in_trace
from manyhands.tf import applied
from manyhands.tf.missing import Names, missing
from manyhands.tf.tensor import text


class _Kind(type):
    """Classes of datasets: a method that is not here says what to use."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise missing(f"tf.data.{cls.__name__}.{name}")


class _Tensors(metaclass=_Kind):
    """Gives elements as tensors, and none while a function is being traced."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in dir(type(self)):
            return object.__getattribute__(self, name)  # what went wrong, once more
        raise missing(f"tf.data.Dataset.{name}")

    @staticmethod
    def _emit(leaf: Any) -> Any:
        if isinstance(leaf, str | bytes):
            return text(leaf)
        if isinstance(leaf, np.ndarray | np.generic):
            return text(leaf) if leaf.dtype.kind in "OSU" else jnp.asarray(leaf)
        return leaf

    def cardinality(self) -> Any:
        """How many elements there are; negative where there is no number."""
        return jnp.asarray(super().cardinality())  # pyright: ignore[reportAttributeAccessIssue]

    def __iter__(self) -> Any:
        refuse_in_trace()
        return super().__iter__()  # pyright: ignore[reportAttributeAccessIssue]


class Dataset(_Tensors, native.Dataset):
    """A pipeline of elements."""


class TFRecordDataset(_Tensors, native.TFRecordDataset):
    """The records of TFRecord files."""

    _derives = Dataset


class TextLineDataset(_Tensors, native.TextLineDataset):
    """The lines of text files."""

    _derives = Dataset


class FixedLengthRecordDataset(_Tensors, native.FixedLengthRecordDataset):
    """Pieces of files, all of one length."""

    _derives = Dataset


Iterator = native.DatasetIterator

experimental = Names(
    "tf.data.experimental",
    AUTOTUNE=AUTOTUNE,
    AutoShardPolicy=AutoShardPolicy,
    SHARD_HINT=SHARD_HINT,
    DistributeOptions=DistributeOptions,
    ThreadingOptions=ThreadingOptions,
    INFINITE_CARDINALITY=INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY=UNKNOWN_CARDINALITY,
    assert_cardinality=applied.assert_cardinality,
    cardinality=lambda dataset: dataset.cardinality(),
    choose_from_datasets=lambda datasets, choice_dataset, stop_on_empty_dataset=False: (
        Dataset.choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)
    ),
    Optional=Optional,
    get_next_as_optional=lambda iterator: iterator.get_next_as_optional(),
    get_single_element=lambda dataset: dataset.get_single_element(),
    group_by_window=applied.group_by_window,
    prefetch_to_device=applied.prefetch_to_device,
    sample_from_datasets=Dataset.sample_from_datasets,
    shuffle_and_repeat=applied.shuffle_and_repeat,
    unique=applied.unique,
)

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "Dataset",
    "FixedLengthRecordDataset",
    "Iterator",
    "Options",
    "TFRecordDataset",
    "TextLineDataset",
    "ThreadingOptions",
    "experimental",
]
