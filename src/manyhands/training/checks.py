"""Look at the data before training starts on it.

In: the arguments of fit, evaluate or predict.  Out: a DataError that says what to mend, or nothing.
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

from manyhands import keras_bridge
from manyhands.data.plain import check_numbers
from manyhands.errors import DataError, explain


def check_data(model: Any, arguments: dict[str, Any]) -> None:
    """Refuse arrays without rows, and arrays whose rows do not belong together.

    Only where Keras cuts them into batches itself, and only what Keras would not refuse before.
    """
    called = arguments["called"]
    if called not in ("fit", "evaluate", "predict"):
        return
    if called != "predict" and not model.compiled:
        return
    given = [arguments.get(name) for name in ("x", "y", "sample_weight")]
    _check_numbers(called, given)
    _check(called, "", keras_bridge.rows_given(*given))
    validation = arguments.get("validation_data")
    if isinstance(validation, tuple | list) and 1 <= len(validation) <= 3:
        held_out = [*validation, None, None][:3]
        _check_numbers(called, held_out)
        _check(called, "validation ", keras_bridge.rows_given(*held_out))


def _check_numbers(called: str, given: list[Any]) -> None:
    for name, value in zip(("x", "y", "sample_weight"), given, strict=True):
        for part in keras.tree.flatten(value):
            check_numbers(part, f"The {name} of {called}")
            if isinstance(part, np.ndarray) and part.ndim == 0:
                raise DataError(
                    explain(
                        f"{called} trains on rows, and a single number has none.",
                        got=f"{name} of shape ()",
                        fix="give an array with a first dim for the rows, such as x[None].",
                    )
                )


def _check(called: str, prefix: str, sizes: list[tuple[str, int]]) -> None:
    listed = ", ".join(f"{prefix}{name} has {size} rows" for name, size in sizes)
    if len({size for _, size in sizes}) > 1:
        raise DataError(
            explain(
                f"{called} was given arrays whose rows do not belong together. "
                "Data cardinality is ambiguous.",
                got=listed,
                fix="make all arrays contain the same number of samples: a row of y for each of x.",
            )
        )
    if sizes and sizes[0][1] == 0:
        raise DataError(
            explain(
                f"{called} was given an empty data set.",
                got=listed,
                fix="give it at least one row; look at the step that loads or filters the data.",
            )
        )
