"""Patterns in text, as tf.strings has them: RE2's words, matched by Python's `re`.

Letters are characters of UTF-8, classes such as \\d are those of ASCII.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import jax.numpy as jnp
import numpy as np

from manyhands.errors import explain
from manyhands.tf.errors import InvalidArgumentError
from manyhands.tf.tensor import Text, text

_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_CLASS = re.compile(r"\[:(\w+):\]")
_GROUP = re.compile(r"\\(\\|\d)")


def regex_replace(
    input: Any, pattern: Any, rewrite: Any, replace_global: bool = True, name: Any = None
) -> Text:
    r"""Put `rewrite` where the pattern matches; \1 to \9 are its groups, \0 is all of it."""
    del name
    wanted, new = _compiled(_plain(pattern)), _plain(rewrite)
    if any(at != "\\" and int(at) > wanted.groups for at in _GROUP.findall(new)):
        return text(input)  # a group that is not there: nothing is put anywhere

    def written(found: re.Match[str]) -> str:
        return _GROUP.sub(lambda at: "\\" if at[1] == "\\" else found[int(at[1])] or "", new)

    most = 0 if replace_global else 1
    found = [
        wanted.sub(written, one, count=most).encode(errors="surrogateescape")
        for one in _words(input)
    ]
    return text(np.array(found, object).reshape(text(input).shape))


def regex_full_match(input: Any, pattern: Any, name: Any = None) -> Any:
    """Whether the pattern matches all of each text."""
    del name
    wanted = _compiled(_plain(pattern))
    found = [wanted.fullmatch(one) is not None for one in _words(input)]
    return jnp.asarray(np.asarray(found, bool).reshape(text(input).shape))


def _words(input: Any) -> list[str]:
    return [one.decode(errors="surrogateescape") for one in text(input).ravel().tolist()]


def _plain(words: Any) -> str:
    return text(words).item().decode()


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern; what only RE2 has, `[[:punct:]]`, in Python's words."""
    try:
        return re.compile(_CLASS.sub(lambda at: _CLASSES[at[1]], pattern), re.ASCII)
    except (re.error, KeyError) as error:
        raise InvalidArgumentError(
            explain(
                f"Invalid pattern: {pattern}.",
                got=str(error),
                fix="write it as a pattern of Python's re.",
            )
        ) from error
