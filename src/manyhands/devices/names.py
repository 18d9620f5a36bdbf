"""Read a device's name in every spelling that tf.distribute takes.

In: "GPU:0", "/gpu:0", "/device:GPU:0", "/job:localhost/replica:0/task:0/device:GPU:0", "cpu".
Out: DeviceName(kind="gpu", index=0).
Pure text: whether such a device exists is `resolve`'s business.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from manyhands.errors import DeviceError, explain

_SPELLING = re.compile(
    r"""^/?
        (?:job:(?P<job>[\w.-]+)/)?
        (?:replica:(?P<replica>\d+)/)?
        (?:task:(?P<task>\d+)/)?
        (?:device:)?
        (?P<kind>[a-z]+)
        (?::(?P<index>\d+|\*))?$""",
    re.IGNORECASE | re.VERBOSE | re.ASCII,
)
_KINDS = {"cpu": "cpu", "gpu": "gpu", "cuda": "gpu", "rocm": "gpu", "tpu": "tpu"}


@dataclass(frozen=True, slots=True, order=True)
class DeviceName:
    """A device of this process: its kind, and its place among those of that kind."""

    kind: str
    index: int

    def __str__(self) -> str:
        return f"{self.kind.upper()}:{self.index}"


def parse(text: str) -> DeviceName:
    """Read one device name; a name without a number means number 0."""
    match = _SPELLING.match(text.strip())
    kind = _KINDS.get(match["kind"].lower()) if match else None
    if match is None or kind is None:
        raise DeviceError(
            explain(
                "This is not the name of a device.",
                got=repr(text),
                fix='write it like "GPU:0", "/gpu:0", "/device:GPU:0" or "cpu:2".',
            )
        )
    index = match["index"]
    return DeviceName(kind, 0 if index in (None, "*") else int(index))
