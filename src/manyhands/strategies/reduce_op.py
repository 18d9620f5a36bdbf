"""How values of several replicas are brought together."""

from __future__ import annotations

import enum
from typing import Any

from manyhands.errors import StepError, explain


class ReduceOp(enum.Enum):
    """SUM or MEAN."""

    SUM = "SUM"
    MEAN = "MEAN"

    @classmethod
    def of(cls, given: Any) -> ReduceOp:
        """Take the member itself or its name in any spelling."""
        if isinstance(given, ReduceOp):
            return given
        name = str(getattr(given, "value", given)).upper()
        if name not in cls.__members__:
            raise StepError(
                explain(
                    "That is not a way to reduce.",
                    got=repr(given),
                    fix='use ReduceOp.SUM or ReduceOp.MEAN, or their names "SUM" and "MEAN".',
                )
            )
        return cls[name]
