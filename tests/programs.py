"""Run a program as a user would: in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap


def run(source: str, *, timeout_s: float = 240, **environment: str) -> subprocess.CompletedProcess:
    """Run Python source; devices and backends are as a fresh shell has them."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MANYHANDS_", "KERAS_", "XLA_CLIENT_", "XLA_PYTHON_", "PYTEST_"))
    }
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(source)],
        env=clean | environment,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def output_of(source: str, **environment: str) -> str:
    """Run Python source that must succeed, and return what it printed."""
    done = run(source, **environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
