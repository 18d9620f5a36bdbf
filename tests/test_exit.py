"""Nothing of ours says anything at the end of a program, whatever it leaves behind."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import manyhands

PROGRAM = Path(__file__).with_name("exit_program.py")


@pytest.mark.parametrize(
    "end", [("in builtins",), ("in a circle", "in a thread"), ("after an error",)], ids=str
)
def test_programs_end_silently(end):
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *end],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("", "")
    assert done.returncode == (1 if "after an error" in end else 0)


def _with_del():
    for module in pkgutil.walk_packages(manyhands.__path__, "manyhands."):
        if "for_children" in module.name:
            continue
        loaded = importlib.import_module(module.name)
        for _, found in inspect.getmembers(loaded, inspect.isclass):
            if found.__module__ == module.name and "__del__" in vars(found):
                yield found


def test_an_object_that_was_never_quite_made_goes_silently():
    kinds = list(_with_del())
    assert kinds
    for kind in kinds:
        kind.__del__(kind.__new__(kind))
