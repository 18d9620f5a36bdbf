"""Run a program in this process as Python itself would.

In: a script's path or a module's name, and the program's own arguments.  Out: an exit code.
The program is `__main__` for good, so that what it pickles, starts and leaves behind finds it.
What it raises is shown from its own first line on, by its own `sys.excepthook`.
"""

from __future__ import annotations

import builtins
import importlib.util
import io
import os
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Any

from manyhands.errors import ManyhandsError, explain
from manyhands.tracebacks import make_readable

INTERRUPTED = 130


def run_script(script: Path, arguments: Sequence[str]) -> int:
    """Run `python script.py`."""
    _first_on_path(str(script.resolve().parent))
    sys.argv = [str(script), *arguments]
    file = os.path.abspath(script)
    main = _new_main(__file__=file, __loader__=SourceFileLoader("__main__", file))

    def code() -> CodeType:
        with io.open_code(file) as source:
            return _compiled(source.read(), file)

    return _run(code, main)


def _compiled(source: bytes, file: str) -> CodeType:
    try:
        return compile(source, file, "exec", dont_inherit=True)
    except SyntaxError as error:
        if error.filename is None:  # Python names no place for a null byte
            error.filename, error.lineno = file, 1 + source.split(b"\0")[0].count(b"\n")
        raise


def run_module(name: str, arguments: Sequence[str]) -> int:
    """Run `python -m module`."""
    _first_on_path(os.getcwd())
    sys.argv = ["-m", *arguments]
    main = _new_main()

    def code() -> CodeType:
        spec = _found(name)
        loader: Any = spec.loader
        code = loader.get_code(spec.name)
        sys.argv[0] = str(spec.origin)
        main.__dict__.update(
            __file__=spec.origin,
            __cached__=spec.cached,
            __loader__=loader,
            __package__=spec.parent,
            __spec__=spec,
        )
        return code

    return _run(code, main)


def _found(name: str) -> ModuleSpec:
    """Find a module, or the `__main__` of a package."""
    if not all(part.isidentifier() for part in name.split(".")):
        raise _no_module(name, "not a module's name")
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # something that a package on the way imports
        spec = None
    if spec is not None and spec.submodule_search_locations is not None:
        inner = importlib.util.find_spec(f"{name}.__main__")
        if inner is None:
            raise _no_module(name, "a package without a __main__ module")
        spec = inner
    if spec is None or not hasattr(spec.loader, "get_code"):
        raise _no_module(name, "no such module")
    return spec


def _no_module(name: str, why: str) -> ManyhandsError:
    return ManyhandsError(
        explain(
            "There is no such program.",
            got=f"-m {name}: {why}",
            fix="name a module that can be imported from here, as for python -m; "
            "a file is run without -m.",
        )
    )


def _first_on_path(folder: str) -> None:
    """Put a folder where Python puts it: in the place of the one our own command came with."""
    if sys.flags.safe_path or not sys.path:
        sys.path.insert(0, folder)
    else:
        sys.path[0] = folder


def _new_main(**names: Any) -> ModuleType:
    main = ModuleType("__main__")
    main.__dict__.update(__builtins__=builtins, __cached__=None, **names)
    main.__dict__.setdefault("__annotations__", {})
    sys.modules["__main__"] = main
    return main


def _run(code: Callable[[], CodeType], main: ModuleType) -> int:
    try:
        exec(code(), main.__dict__)
    except SystemExit:
        raise
    except BaseException as error:
        if isinstance(error, ManyhandsError) and _never_began(error.__traceback__):
            raise  # about the command itself
        return _show(error)
    return 0


def _never_began(trace: TracebackType | None) -> bool:
    return _after_us(trace) is None


def _show(error: BaseException) -> int:
    """Show what the program raised, as Python would have."""
    error.__traceback__ = _after_us(error.__traceback__)
    make_readable(error)
    trace = error.__traceback__
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
    sys.excepthook(type(error), error, trace)  # the program's own, where it has one
    return INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1


def _after_us(trace: TracebackType | None) -> TracebackType | None:
    """Give a traceback from the program's first frame on."""
    while trace is not None and trace.tb_frame.f_code.co_filename in _OURS:
        trace = trace.tb_next
    return trace


_OURS = {__file__, importlib.util.__file__}
