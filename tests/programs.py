"""Run a program as a user would: in a process of its own, with the environment of a fresh shell.

It is forked from a process that has imported JAX and Keras (tests/forking), or with `fresh=True`
started anew: for programs whose point is how they start and end, or what has been imported when.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from tests import forking

LEAN = str(Path(__file__).parent / "lean")
_NOT_A_SHELLS = ("MANYHANDS_", "KERAS_", "XLA_CLIENT_", "XLA_PYTHON_", "PYTEST_")


def environment(**more: str) -> dict[str, str]:
    """Give what a fresh shell has; devices and backends are its own choice."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(_NOT_A_SHELLS)}
    paths = [LEAN, *filter(None, clean.get("PYTHONPATH", "").split(os.pathsep))]
    return clean | {"PYTHONPATH": os.pathsep.join(paths)} | more


def run(
    source: str, *, timeout_s: float = 240, fresh: bool = False, **more: str
) -> subprocess.CompletedProcess:
    """Run Python source."""
    return run_command(["-c", textwrap.dedent(source)], timeout_s=timeout_s, fresh=fresh, **more)


def run_command(
    command: Sequence[str | Path], *, timeout_s: float = 240, fresh: bool = False, **more: str
) -> subprocess.CompletedProcess:
    """Run what stands after `python`."""
    command = list(map(str, command))
    running = start(command, environment(**more), fresh=fresh)
    try:
        out, err = running.communicate(timeout=timeout_s)
    finally:
        running.kill()
    return subprocess.CompletedProcess(command, running.wait(), out, err)


def start(
    command: Sequence[str], env: dict[str, str], *, fresh: bool = False
) -> subprocess.Popen | forking.Forked:
    """Start what stands after `python`, with an environment that is complete."""
    if not fresh and forking.can_fork(command, env):
        return forking.start(command, env=env)
    return subprocess.Popen(
        [sys.executable, *command],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def output_of(source: str, *, fresh: bool = False, **more: str) -> str:
    """Run Python source that must succeed, and return what it printed."""
    done = run(source, fresh=fresh, **more)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
