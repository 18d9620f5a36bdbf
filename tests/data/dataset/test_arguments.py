"""Nonsense given to any method of a Dataset is told with a fix, not by Python's own error."""

from __future__ import annotations

import inspect
import itertools

import numpy as np
import pytest

import manyhands as mh
from manyhands.errors import DataError, ManyhandsError

Dataset = mh.data.Dataset

VALUES = [
    *(None, 0, -1, -7, 1.5, float("nan"), float("inf"), "x", b"x", "", (), [], {}, object(), True),
    *(np.zeros(3), np.zeros(0), 10**30, [1, "x"], {"a": 1}, range(3), Exception, ..., Dataset),
]
FUNCTIONS = [
    *(lambda: 1, lambda a, b, c, d: 1, lambda *a: None, lambda *a: object(), lambda *a: "x"),
    *(lambda *a: [1, [2]], lambda *a: 1.5, lambda *a: {"a": None}, lambda *a: (), lambda *a: ...),
]
GOOD = {
    "batch_size": 2,
    "bucket_batch_sizes": [2, 2],
    "bucket_boundaries": [2],
    "buffer_size": 2,
    "choice_dataset": Dataset.range(2),
    "count": 2,
    "dataset": Dataset.range(2),
    "datasets": [Dataset.range(2), Dataset.range(2)],
    "element_length_func": lambda x: x,
    "file_pattern": __file__,
    "filenames": [],
    "generator": lambda: iter([1]),
    "index": 0,
    "initial_state": np.int64(0),
    "key_func": lambda x: x % 2,
    "map_func": lambda x: x,
    "num_shards": 2,
    "options": mh.data.Options(),
    "predicate": lambda x: x > 1,
    "record_bytes": 2,
    "reduce_func": lambda state, element: element,
    "scan_func": lambda state, element: (state, element),
    "size": 2,
    "tensors": np.arange(3),
    "transformation_func": lambda dataset: dataset,
}
OTHERWISE = {
    "flat_map": {"map_func": lambda x: Dataset.range(2)},
    "from_generator": {"output_signature": mh.data.TensorSpec((), np.int32)},
    "group_by_window": {"window_size": 2},
    "interleave": {"map_func": lambda x: Dataset.range(2)},
}
METHODS = [
    name
    for name in dir(Dataset)
    if not name.startswith("_") and callable(getattr(Dataset, name)) and name != "stage"
]


def cases(method):
    """Each parameter with each piece of nonsense, the others as they should be."""
    parameters = inspect.signature(getattr(Dataset.range(6), method)).parameters
    for name, parameter in parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            continue
        rest = {
            other: GOOD[other]
            for other, found in parameters.items()
            if other in GOOD and other != name and found.default is found.empty
        }
        rest |= {k: v for k, v in OTHERWISE.get(method, {}).items() if k != name}
        if method == "group_by_window" and name == "window_size_func":
            del rest["window_size"]
        for value in [*VALUES, *FUNCTIONS]:
            given = (value,) if parameter.kind is parameter.VAR_POSITIONAL else ()
            yield given, rest if given else rest | {name: value}


def use(found):
    """Do what people do with a dataset."""
    if isinstance(found, Dataset):
        found.element_spec  # noqa: B018
        found.cardinality()
        str(found.explain())
        list(itertools.islice(found, 4))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", METHODS)
def test_nonsense_is_told_with_a_fix(method):
    for given, named in cases(method):
        try:
            use(getattr(Dataset.range(6), method)(*given, **named))
        except ManyhandsError as found:
            error = found
        except Exception as found:
            raise AssertionError(f"{method}{given}{named}") from found
        else:
            continue
        assert "\n  fix: " in str(error), (method, given, named)


RANGE = Dataset.range(4)


@pytest.mark.parametrize(
    ("call", "fix"),
    [
        (lambda: Dataset.zip(()), r"fix: write zip\(\(first, second\)\)"),
        (lambda: Dataset.zip(), r"fix: write zip\(\(first, second\)\)"),
        (lambda: Dataset.zip((RANGE, 3)), "fix: make it a Dataset first"),
        (lambda: RANGE.concatenate([1]), "fix: make it a Dataset first"),
        (lambda: RANGE.map(None), "fix: pass the function itself"),
        (lambda: RANGE.apply(lambda d: 3), "fix: make it a Dataset first"),
        (lambda: list(RANGE.filter(lambda x: 1)), "fix: return a single bool"),
        (lambda: list(RANGE.filter(lambda x: x)), "fix: return a single bool"),
        (lambda: list(RANGE.filter(lambda x: None)), "fix: return a single bool"),
        (lambda: list(RANGE.take_while(lambda x: "no")), "fix: return a single bool"),
        (lambda: RANGE.take("3"), "fix: pass count=3"),
        (lambda: RANGE.batch(0), "fix: pass batch_size=1 or more"),
        (lambda: RANGE.batch(2, drop_remainder=np.zeros(3)), "fix: pass drop_remainder=True"),
        (lambda: RANGE.with_options({}), r"fix: make a mh.data.Options\(\)"),
        (lambda: RANGE.reduce(0, lambda x: x), "fix: give it one parameter for each part"),
        (lambda: RANGE.apply(lambda: 3), "fix: give it one parameter for each part"),
        (lambda: Dataset.range(), r"fix: write range\(stop\)"),
        (lambda: Dataset.range(0, 3, 0), r"fix: write range\(stop\)"),
        (lambda: Dataset(RANGE), "fix: use Dataset.from_tensor_slices"),
        (lambda: Dataset.from_tensors(2**70), "fix: give it as a float"),
        (lambda: Dataset.choose_from_datasets(RANGE, RANGE), r"fix: pass \[first, second\]"),
        (lambda: Dataset.from_records(3), "fix: pass "),
        (lambda: list(Dataset.from_records(RANGE)), "fix: pass "),
        (lambda: list(Dataset.from_generator(lambda: 3)), "fix: write a function with yield"),
        (
            lambda: Dataset.from_generator(lambda: iter([1]), output_signature=3),
            "fix: write output_signature=",
        ),
        (lambda: list(RANGE.padded_batch(2, padded_shapes="x")), "fix: give each part of the"),
        (
            lambda: list(Dataset.zip((RANGE, RANGE)).padded_batch(2, padding_values=(1,))),
            "fix: give each part of the",
        ),
        (
            lambda: RANGE.bucket_by_sequence_length(lambda x: x, 3, [2]),
            r"fix: pass bucket_boundaries=\[",
        ),
        (lambda: RANGE.group_by_window(lambda x: x, lambda k, d: d), "fix: give window_size="),
        (
            lambda: RANGE.group_by_window(lambda x: x, lambda k, d: d, 2, lambda k: 2),
            "fix: give window_size=",
        ),
        (
            lambda: list(RANGE.group_by_window(lambda x: x / 2, lambda k, d: d, 2)),
            "fix: return one whole number, cast to int64",
        ),
        (
            lambda: list(RANGE.group_by_window(lambda x: x, lambda k, d: k, 2)),
            "fix: return a Dataset made from the element",
        ),
        (
            lambda: list(
                RANGE.group_by_window(lambda x: x, lambda k, d: d, window_size_func=lambda k: -k)
            ),
            "fix: pass what window_size_func returns=1 or more",
        ),
    ],
)
def test_what_is_said(call, fix):
    with pytest.raises(DataError, match=fix):
        call()


def test_an_error_of_the_function_itself_stays_what_it_is():
    with pytest.raises(TypeError, match="has no len"):
        list(RANGE.map(len))
    with pytest.raises(KeyError, match="as asked"):
        RANGE.reduce(0, lambda state, element: {}["as asked"])
