"""TensorFlow's names of arguments, where here they are names of something else.

In: a function whose parameter is `tensor_`, for `tensor` is what makes one; or one of several that
were made alike.  Out: the same, which takes TensorFlow's keywords.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]


def takes(**words: str) -> Callable[[Function], Function]:
    """Let a keyword stand for another: `takes(features="x")`."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def renamed(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **{words.get(word, word): kwargs[word] for word in kwargs})

        return renamed

    return decorate


takes_tensor = takes(tensor="tensor_")
