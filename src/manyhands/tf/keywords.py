"""TensorFlow's names of arguments, where here they are names of something else.

In: a function whose parameter is `tensor_`, for `tensor` is what makes one.  Out: the same, which
takes the keyword `tensor`, as in TensorFlow.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def takes_tensor(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let `tensor=` stand for `tensor_=`."""

    @functools.wraps(function)
    def renamed(*args: Any, **kwargs: Any) -> Any:
        if "tensor" in kwargs:
            kwargs["tensor_"] = kwargs.pop("tensor")
        return function(*args, **kwargs)

    return renamed
