"""Let an error end with its own words, and show the program's lines.

In: an error on its way out of what we run for a program: a step, `fit`, a `map` function.
Out: the same error; its traceback has the program's frames without ours, Keras' and JAX's, and
the note that JAX adds about frames it removed is gone.  Whoever asked for whole tracebacks
(JAX_TRACEBACK_FILTERING=off, keras.config.disable_traceback_filtering) gets them untouched.
An error of our own making that says nothing to the program keeps our frames: it is a bug report.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from manyhands.errors import ManyhandsError

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
_WORDS = tuple(
    os.path.join(_OURS, *parts)
    for parts in (("tf", ""), ("keras_bridge", ""), ("engine", "jax_inside.py"))
)
"""Words of TensorFlow, Keras and JAX: an error inside one is about how it was called."""
_LIBRARIES = ("keras", "jax", "jaxlib")
_GLUE = tuple(
    os.path.join(os.path.dirname(os.__file__), name)
    for name in ("contextlib.py", "functools.py", "threading.py", f"concurrent{os.sep}futures")
)
"""Python's own, on the way between two libraries."""
_PYTHON = os.path.dirname(os.__file__) + os.sep
_JAX_NOTE = "JAX_TRACEBACK_FILTERING"
_PASSES_BY = (StopIteration, StopAsyncIteration)


class _ForTheProgram:
    """Enter around what a program asked us to run: errors that leave are made readable."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, Exception) and not isinstance(error, _PASSES_BY):
            make_readable(error)


for_the_program = _ForTheProgram()


def make_readable(error: BaseException) -> None:
    """Take JAX's note and the libraries' frames off an error, and off those that led to it."""
    if _wants_everything():
        return
    for one in _chain(error):
        notes = getattr(one, "__notes__", None)
        if notes and any(_JAX_NOTE in note for note in notes):
            one.__notes__ = [note for note in notes if _JAX_NOTE not in note]
            if not one.__notes__:
                del one.__notes__
        one.__traceback__ = _without_libraries(one)
    _show_what_led_to(error)


def _show_what_led_to(error: BaseException) -> None:
    """Let Keras not hide an error of the program behind its own: it says `from None` to all."""
    before = error.__context__
    if error.__suppress_context__ and error.__cause__ is None and before is not None:
        shows = {_file(frame) for frame in _frames(error.__traceback__)}
        hides = {_file(frame) for frame in _frames(before.__traceback__)}
        error.__suppress_context__ = not hides - shows


def _wants_everything() -> bool:
    jax, keras = sys.modules.get("jax"), sys.modules.get("keras")
    if jax is not None and getattr(jax.config, "jax_traceback_filtering", "") == "off":
        return True
    filters = getattr(getattr(keras, "config", None), "is_traceback_filtering_enabled", None)
    return filters is not None and not filters()


def _chain(error: BaseException) -> list[BaseException]:
    """List an error and those it came from, each once."""
    found: list[BaseException] = []
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or any(one is known for known in found):
            continue
        found.append(one)
        waiting += [one.__cause__, one.__context__, *getattr(one, "exceptions", ())]
    return found


def _without_libraries(error: BaseException) -> TracebackType | None:
    frames = list(_frames(error.__traceback__))
    if not isinstance(error, ManyhandsError) and _is_our_fault(frames):
        return error.__traceback__
    kept: list[TracebackType] = []
    after_library = False
    for frame in frames:
        file = _file(frame)
        after_library = _is_library(file) or (after_library and file.startswith(_GLUE))
        if not after_library:
            kept.append(frame)
    trace: TracebackType | None = None
    for frame in reversed(kept):
        trace = TracebackType(trace, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return trace


def _is_our_fault(frames: list[TracebackType]) -> bool:
    """Whether what went wrong lies between us and the libraries, not in how we were called."""
    inside: list[str] = []
    for frame in frames:
        file = _file(frame)
        if _is_library(file):
            inside.append(file)
        elif not inside or not _is_installed(file):  # what we call of NumPy's is ours to answer for
            inside = []
    ours = [file for file in inside if file.startswith(_OURS)]
    if not ours or not inside[0].startswith(_OURS):
        return False
    return not ours[0].startswith(_WORDS) and not ours[-1].startswith(_WORDS)


def _is_installed(file: str) -> bool:
    return "site-packages" in file or file.startswith(_PYTHON)


def _frames(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _file(frame: TracebackType) -> str:
    return frame.tb_frame.f_code.co_filename


def _is_library(file: str) -> bool:
    return file.startswith(_OURS) or _is_deep(file)


def _is_deep(file: str) -> bool:
    """Whether a file belongs to what we stand on."""
    return file.startswith(_homes()) or file.startswith("<frozen importlib")


def _homes() -> tuple[str, ...]:
    loaded = (sys.modules.get(name) for name in _LIBRARIES)
    return tuple(os.path.dirname(m.__file__) + os.sep for m in loaded if m and m.__file__)
