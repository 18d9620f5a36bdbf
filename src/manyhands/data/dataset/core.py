"""What a dataset is, whatever it was made from: a last stage, options, ways to read it.

In: a stage.  Out: iterators, spec, cardinality, explanation.  Subclasses change what users are
handed (`_emit`), and everything made from them is of their kind.
"""

from __future__ import annotations

from typing import Any, Self

from manyhands.data.dataset.arguments import function_of
from manyhands.data.dataset.calling import Function
from manyhands.data.dataset.explanation import Explanation, explain_stage
from manyhands.data.dataset.iterator import DatasetIterator
from manyhands.data.dataset.options import Options
from manyhands.data.dataset.row_plan import RowPlan, row_plan
from manyhands.data.dataset.stage import INFINITE, UNKNOWN, Stage
from manyhands.data.dataset.told_keras import tell_keras
from manyhands.errors import DataError, explain


def _as_it_is(leaf: Any) -> Any:
    return leaf


class Core:
    """A pipeline that can be read."""

    is_dataset_leaf = True
    """Windows are elements whose leaves are datasets."""
    _derives: type[Any] | None = None
    """Class of what is made from it, where that is not its own."""

    def __init__(self, stage: Stage, options: Options | None = None) -> None:
        if not isinstance(stage, Stage):
            raise DataError(
                explain(
                    "A Dataset is not made by calling its class.",
                    got=f"{type(self).__name__}({type(stage).__name__})",
                    fix="use Dataset.from_tensor_slices, from_tensors, from_generator or range.",
                )
            )
        self.stage = stage
        self._options = options or Options()
        tell_keras()

    @staticmethod
    def _emit(leaf: Any) -> Any:
        """Hand one leaf to the user: NumPy here; subclasses may give something else."""
        return leaf

    @classmethod
    def _hand(cls) -> Any:
        """How leaves are handed over; datasets in windows as they are."""
        if cls._emit is Core._emit:
            return _as_it_is
        emit = cls._emit
        return lambda leaf: leaf if hasattr(leaf, "is_dataset_leaf") else emit(leaf)

    @classmethod
    def _of(cls, stage: Stage, options: Options | None = None) -> Self:
        made = object.__new__(cls._derives or cls)
        Core.__init__(made, stage, options)
        return made

    def _then(self, stage: Stage) -> Self:
        return self._of(stage, self._options)

    def _function(self, call: Any, stage: str) -> Function:
        return Function(function_of(call, stage), self._hand(), stage)

    def __iter__(self) -> DatasetIterator:
        hand = self._hand()
        return DatasetIterator(self.stage, None if hand is _as_it_is else hand)

    def as_numpy_iterator(self) -> DatasetIterator:
        """Iterate over elements of NumPy arrays, whatever the class hands out otherwise."""
        return DatasetIterator(self.stage, None)

    def _by_rows(self) -> DatasetIterator:
        """Iterate with every stage run row by row: what the other ways are tested against."""
        return DatasetIterator(self.stage, None, only_rows=True)

    def as_rows(self) -> RowPlan | None:
        """Give arrays, batch size and orders of row numbers, if that is all the pipeline does."""
        return row_plan(self.stage)

    @property
    def element_spec(self) -> Any:
        """What its elements look like: a TensorSpec for each leaf."""
        return self.stage.spec

    def element_spec_of_window(self) -> Any:
        """Spec where the dataset is itself a leaf."""
        from manyhands.data.dataset.flattening import DatasetSpec

        return DatasetSpec(self.stage.spec)

    def cardinality(self) -> int:
        """How many elements; INFINITE_CARDINALITY or UNKNOWN_CARDINALITY where no number."""
        return self.stage.length()

    def __len__(self) -> int:
        length = self.stage.length()
        if length in (INFINITE, UNKNOWN):
            kind = "infinite" if length == INFINITE else "unknown"
            raise TypeError(f"The dataset is of {kind} length.")
        return length

    def __bool__(self) -> bool:
        return True

    def explain(self) -> Explanation:
        """Show each stage and the way it runs; looks at the first rows, never at a generator's."""
        return explain_stage(self.stage)

    def options(self) -> Options:
        """Give its options."""
        return self._options

    def with_options(self, options: Options) -> Self:
        """Set options."""
        if not isinstance(options, Options):
            raise DataError(
                explain(
                    "with_options takes options.",
                    got=type(options).__name__,
                    fix="make a mh.data.Options(), and set its fields.",
                )
            )
        return self._of(self.stage, self._options.merge(options))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {' > '.join(s.title for s in self.stage.walk())}>"
