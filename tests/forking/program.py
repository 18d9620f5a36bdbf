"""Become a Python program: what `python -c …`, `python -m …` and `python script.py` do at first.

In: the command, environment and folder of a program.  Out: nothing; the process ends as it does.
"""

from __future__ import annotations

import builtins
import importlib
import io
import os
import runpy
import signal
import sys
from importlib.machinery import SourceFileLoader
from types import ModuleType, TracebackType
from typing import Any

OURS = os.path.dirname(__file__)


def become(command: list[str], env: dict[str, str], cwd: str) -> None:
    """Run a program as `__main__` with an environment of its own."""
    old_paths = _paths(os.environ)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    kind = command[0] if command[0] in ("-c", "-m") else "script"
    first = {"-c": "", "-m": cwd}.get(kind, os.path.dirname(os.path.realpath(command[0])))
    kept = [path for path in sys.path[1:] if path not in old_paths]
    sys.path[:] = [first, *_paths(env), *kept]
    for name in [name for name in sys.modules if name.split(".")[0] == "tests"]:
        del sys.modules[name]
    sys.path_importer_cache.clear()
    importlib.invalidate_caches()
    sys.dont_write_bytecode = bool(env.get("PYTHONDONTWRITEBYTECODE"))
    _open_files(unbuffered=bool(env.get("PYTHONUNBUFFERED")))
    main = ModuleType("__main__")
    main.__dict__.update(__builtins__=builtins, __annotations__={})
    sys.modules["__main__"] = main
    try:
        _run(kind, command, main)
    except SystemExit:
        raise
    except BaseException as error:
        _end_with(error)


def _run(kind: str, command: list[str], main: ModuleType) -> None:
    if kind == "-c":
        sys.argv = ["-c", *command[2:]]
        exec(compile(command[1], "<string>", "exec", dont_inherit=True), main.__dict__)
    elif kind == "-m":
        sys.argv = ["-m", *command[2:]]
        getattr(runpy, "_run_module_as_main")(command[1])  # noqa: B009  # what python -m does
    else:
        sys.argv = list(command)
        file = os.path.abspath(command[0])
        main.__dict__.update(__file__=file, __cached__=None)
        main.__loader__ = SourceFileLoader("__main__", file)
        with io.open_code(file) as source:
            code = compile(source.read(), file, "exec", dont_inherit=True)
        exec(code, main.__dict__)


def _paths(env: Any) -> list[str]:
    return [path for path in env.get("PYTHONPATH", "").split(os.pathsep) if path]


def _open_files(*, unbuffered: bool) -> None:
    """Open the program's own input and outputs, as Python does at its start."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        before = getattr(sys, name)
        raw = io.FileIO(number, "r" if number == 0 else "w", closefd=False)
        file: Any = raw
        if number == 0 or not unbuffered:
            file = io.BufferedReader(raw) if number == 0 else io.BufferedWriter(raw)
        text = io.TextIOWrapper(
            file,
            encoding=before.encoding,
            errors=before.errors,
            line_buffering=not unbuffered and (number == 2 or raw.isatty()),
            write_through=unbuffered,
        )
        setattr(sys, name, text)
        setattr(sys, f"__{name}__", text)


def _end_with(error: BaseException) -> None:
    """Show an error from the program's own first line on, and end as Python does."""
    trace = error.__traceback__
    while trace is not None and _is_ours(trace):
        trace = trace.tb_next
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
    sys.excepthook(type(error), error.with_traceback(trace), trace)
    if isinstance(error, KeyboardInterrupt):
        sys.stdout.flush()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    sys.exit(1)


def _is_ours(trace: TracebackType) -> bool:
    return trace.tb_frame.f_code.co_filename.startswith(OURS)
