"""Dataset: tf.data's words for making pipelines; those for changing them are its base's.

In: arrays, generators, files, other datasets.  Out: datasets.  Arguments are checked here; what
they do is in the stages.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from manyhands.data.dataset.arguments import (
    count,
    dataset_of,
    datasets_of,
    flag,
    many,
    paths_of,
    seed_of,
    whole,
)
from manyhands.data.dataset.changing import CYCLE, DatasetChanges
from manyhands.data.dataset.choosing import Choose, Lots, check_alike, checked_weights
from manyhands.data.dataset.core import Core
from manyhands.data.dataset.draws import Draws
from manyhands.data.dataset.files import (
    Files,
    LineReader,
    PieceReader,
    matching_files,
    record_opener,
)
from manyhands.data.dataset.generating import Generated, signature_of
from manyhands.data.dataset.ordering import Zip
from manyhands.data.dataset.records import checked_compression
from manyhands.data.dataset.sources import Elements, Range, Slices
from manyhands.data.dataset.spec import as_dtype
from manyhands.data.dataset.stage import Stage
from manyhands.data.dataset.structure import as_element
from manyhands.errors import DataError, explain


class Dataset(DatasetChanges):
    """A pipeline of elements: nested tuples and dicts of arrays.

    Every method gives a new dataset.  `name` arguments, and those that only tune TensorFlow's
    runtime, are accepted and change nothing.
    """

    @classmethod
    def from_tensor_slices(cls, tensors: Any, name: str | None = None) -> Self:  # noqa: ARG003
        """Cut arrays into rows; nested tuples and dicts of arrays stay nested."""
        return cls._of(Slices(as_element(tensors)))

    @classmethod
    def from_tensors(cls, tensors: Any, name: str | None = None) -> Self:  # noqa: ARG003
        """Make a dataset of one element."""
        return cls._of(Elements([as_element(tensors)]))

    @classmethod
    def from_generator(
        cls,
        generator: Callable[..., Any],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Any = (),
        output_signature: Any = None,
        name: str | None = None,  # noqa: ARG003
    ) -> Self:
        """Read what a generator yields; `generator` is called anew for each pass."""
        if not callable(generator):
            raise DataError(
                explain(
                    "from_generator needs a function that starts a generator.",
                    got=type(generator).__name__,
                    fix="pass the function itself, not what it returns.",
                )
            )
        signature = signature_of(output_signature, output_types, output_shapes)
        given = () if args is None else many(args, "args")
        handed = tuple(cls._hand()(as_element(arg)) for arg in given)
        return cls._of(Generated(generator, handed, signature))

    @classmethod
    def range(cls, *args: int, output_type: Any = np.int64, name: str | None = None) -> Self:  # noqa: ARG003
        """Count, as Python's range."""
        if not 1 <= len(args) <= 3 or 0 in [whole(arg, "step") for arg in args[2:]]:
            raise DataError(
                explain(
                    "range takes one to three whole numbers, the step not 0.",
                    got=repr(args),
                    fix="write range(stop), range(start, stop) or range(start, stop, step).",
                )
            )
        numbers = range(*(whole(arg, "range") for arg in args))
        return cls._of(Range(numbers, as_dtype(output_type)))

    @classmethod
    def from_records(
        cls, filenames: Any, compression_type: Any = None, num_parallel_reads: Any = None
    ) -> Self:
        """Read TFRecord files, one after the other or (num_parallel_reads) in turns."""
        kind = checked_compression(compression_type)
        return cls._files(filenames, record_opener(kind), "TFRecordDataset", num_parallel_reads)

    @classmethod
    def from_text_lines(
        cls, filenames: Any, compression_type: Any = None, num_parallel_reads: Any = None
    ) -> Self:
        """Read text files line by line."""
        kind = checked_compression(compression_type)
        opener = lambda path: LineReader(path, kind)  # noqa: E731
        return cls._files(filenames, opener, "TextLineDataset", num_parallel_reads)

    @classmethod
    def from_fixed_length_records(
        cls,
        filenames: Any,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        compression_type: Any = None,
    ) -> Self:
        """Read files of pieces that are all of one length."""
        size = count(record_bytes, "record_bytes")
        kind = checked_compression(compression_type)
        ends = (
            whole(0 if header_bytes is None else header_bytes, "header_bytes"),
            whole(0 if footer_bytes is None else footer_bytes, "footer_bytes"),
        )
        opener = lambda path: PieceReader(path, size, *ends, kind)  # noqa: E731
        return cls._files(filenames, opener, "FixedLengthRecordDataset", None)

    @classmethod
    def _files(cls, filenames: Any, opener: Any, name: str, at_once: Any) -> Self:
        paths = filenames.stage if isinstance(filenames, Core) else Slices(paths_of(filenames))
        if at_once is None:
            return cls._of(Files(paths, opener, name))
        cycle = (
            CYCLE
            if whole(at_once, "num_parallel_reads") < 0
            else count(at_once, "num_parallel_reads")
        )
        each = lambda path: cls._of(Files(Elements([path]), opener, name))  # noqa: E731
        return cls._of(paths).interleave(each, cycle, num_parallel_calls=cycle)

    @classmethod
    def list_files(
        cls,
        file_pattern: Any,
        shuffle: bool | None = None,
        seed: int | None = None,
        name: str | None = None,  # noqa: ARG003
    ) -> Self:
        """Name the files that match, in a new order each pass unless `shuffle=False`."""
        names = [os.fsdecode(path) for path in paths_of(file_pattern)]
        found = matching_files(names)
        listed = cls.from_tensor_slices(found)
        return listed if shuffle is False else listed.shuffle(len(found), seed)

    @classmethod
    def zip(cls, *args: Any, datasets: Any = None, name: str | None = None) -> Self:  # noqa: ARG003
        """Put datasets side by side: `zip((a, b))`, `zip(a, b)`, or a dict of them."""
        nested = datasets if datasets is not None else args[0] if len(args) == 1 else args
        if isinstance(nested, (tuple, list, dict)) and not nested:
            raise DataError(
                explain(
                    "zip needs at least one dataset.",
                    got=repr(nested),
                    fix="write zip((first, second)), or zip(first, second).",
                )
            )
        if isinstance(nested, (tuple, list)):
            return cls._of(Zip(tuple(cls._nested(part) for part in nested)))
        if isinstance(nested, dict):
            return cls._of(Zip({key: cls._nested(part) for key, part in nested.items()}))
        return cls._of(cls._nested(nested))

    @classmethod
    def _nested(cls, part: Any) -> Any:
        if isinstance(part, (tuple, list, dict)):
            return cls.zip(part).stage
        return dataset_of(part, "zip").stage

    @classmethod
    def choose_from_datasets(
        cls, datasets: Any, choice_dataset: Core, stop_on_empty_dataset: bool = True
    ) -> Self:
        """Give elements of the datasets whose numbers `choice_dataset` gives."""
        choices = dataset_of(choice_dataset, "choice_dataset").stage
        drawn = datasets_of(datasets, "choose_from_datasets")
        return cls._choose(choices, drawn, stop_on_empty_dataset)

    @classmethod
    def sample_from_datasets(
        cls,
        datasets: Any,
        weights: Any = None,
        seed: int | None = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
    ) -> Self:
        """Give elements of datasets drawn by weights; each pass in one order, unless told."""
        drawn = datasets_of(datasets, "sample_from_datasets")
        draws = Draws(seed_of(seed), flag(rerandomize_each_iteration, "rerandomize_each_iteration"))
        if isinstance(weights, Core):
            return cls._choose(Lots(weights.stage, draws), drawn, stop_on_empty_dataset)
        pairs = list(zip(drawn, checked_weights(weights, len(drawn)), strict=True))
        kept = [pair for pair in pairs if pair[1] > 0] or [(one.take(0), 1.0) for one in drawn[:1]]
        if len(kept) == 1:
            return cls._of(kept[0][0].stage)
        lots = Lots(tuple(weight for _, weight in kept), draws)
        return cls._choose(lots, [one for one, _ in kept], stop_on_empty_dataset)

    @classmethod
    def _choose(cls, choices: Stage, datasets: list[Core], stops: bool) -> Self:
        check_alike([dataset.element_spec for dataset in datasets])
        return cls._of(
            Choose(
                choices,
                [dataset.stage for dataset in datasets],
                flag(stops, "stop_on_empty_dataset"),
            )
        )
