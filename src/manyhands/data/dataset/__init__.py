"""Datasets in tf.data's words, without TensorFlow.

Each pipeline runs by whichever of three ways gives the same elements fastest, and `explain()`
shows which: *index* (row numbers and one gather a batch), *traced* (functions that JAX can trace,
compiled over whole batches), *rows* (plain Python, generators and files, on Grain's threads where
parallel).  Functions compiled and called one op at a time may differ in the last bit of a float.
"""

from manyhands.data.dataset.changing import AUTOTUNE
from manyhands.data.dataset.core import Core
from manyhands.data.dataset.dataset import Dataset
from manyhands.data.dataset.example import (
    BytesList,
    Example,
    Feature,
    Features,
    FloatList,
    Int64List,
)
from manyhands.data.dataset.explanation import Explanation, StageLine
from manyhands.data.dataset.file_datasets import (
    FixedLengthRecordDataset,
    TextLineDataset,
    TFRecordDataset,
)
from manyhands.data.dataset.iterator import DatasetIterator
from manyhands.data.dataset.options import (
    AutoShardPolicy,
    DistributeOptions,
    Options,
    ThreadingOptions,
)
from manyhands.data.dataset.parsing import (
    FixedLenFeature,
    SparseValues,
    VarLenFeature,
    parse_example,
    parse_single_example,
)
from manyhands.data.dataset.randomness import NotTraceable, row_key
from manyhands.data.dataset.records import DamagedFileError, MissingFileError, TFRecordWriter
from manyhands.data.dataset.row_plan import RowPlan
from manyhands.data.dataset.spec import TensorSpec
from manyhands.data.dataset.stage import INFINITE as INFINITE_CARDINALITY
from manyhands.data.dataset.stage import UNKNOWN as UNKNOWN_CARDINALITY

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "AutoShardPolicy",
    "BytesList",
    "Core",
    "DamagedFileError",
    "Dataset",
    "DatasetIterator",
    "DistributeOptions",
    "Example",
    "Explanation",
    "Feature",
    "Features",
    "FixedLenFeature",
    "FixedLengthRecordDataset",
    "FloatList",
    "Int64List",
    "MissingFileError",
    "NotTraceable",
    "Options",
    "RowPlan",
    "SparseValues",
    "StageLine",
    "TFRecordDataset",
    "TFRecordWriter",
    "TensorSpec",
    "TextLineDataset",
    "ThreadingOptions",
    "VarLenFeature",
    "parse_example",
    "parse_single_example",
    "row_key",
]
