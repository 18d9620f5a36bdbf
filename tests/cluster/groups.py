"""Start a group of processes as people do: with TF_CONFIG, one shell each, or the launcher."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path

from tests import programs
from tests.forking import Forked


def free_ports(count: int) -> list[int]:
    """Find ports that nobody uses."""
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


def clean_environment(**more: str) -> dict[str, str]:
    """Give the environment of a fresh shell."""
    unwanted = ("MANYHANDS_", "KERAS_", "XLA_CLIENT_", "XLA_PYTHON_", "PYTEST_")
    unwanted += ("TF_CONFIG", "SLURM_", "OMPI_", "PMI_")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(unwanted)}
    root = Path(__file__).parents[2]
    paths = [str(root / "tests" / "lean"), str(root / "src"), str(root)]
    paths += [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    ours = {"PYTHONPATH": os.pathsep.join(paths), "MANYHANDS_TIMEOUT": "60"}
    if "JAX_COMPILATION_CACHE_DIR" in kept:  # of their own: who is killed may leave half a file
        ours["JAX_COMPILATION_CACHE_DIR"] = kept["JAX_COMPILATION_CACHE_DIR"] + "-of-groups"
    return kept | ours | {"JAX_PLATFORMS": "cpu"} | more  # one GPU does not hold two processes


def tf_configs(num_workers: int) -> list[str]:
    """Write one TF_CONFIG for each worker of a cluster."""
    addresses = [f"127.0.0.1:{port}" for port in free_ports(num_workers)]
    return [
        json.dumps({"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}})
        for index in range(num_workers)
    ]


def start(command: Sequence[str], **environment: str) -> subprocess.Popen | Forked:
    """Start one process of a group."""
    return programs.start(command, clean_environment(**environment))


def workers(
    command: Sequence[str], devices: Sequence[int], timeout_s: float = 400, **environment: str
) -> list[str]:
    """Run a TF_CONFIG program, one worker for each number of devices; give what each printed."""
    running = [
        start(command, TF_CONFIG=config, MANYHANDS_DEVICES=str(count), **environment)
        for config, count in zip(tf_configs(len(devices)), devices, strict=True)
    ]
    return outputs(running, timeout_s)


def outputs(running: Sequence[subprocess.Popen | Forked], timeout_s: float) -> list[str]:
    """Wait for processes that must succeed; give what they printed."""
    until = time.monotonic() + timeout_s
    try:
        said = [one.communicate(timeout=max(1, until - time.monotonic())) for one in running]
    finally:
        for one in running:
            one.kill()
    for one, (out, err) in zip(running, said, strict=True):
        assert one.returncode == 0, f"{out[-1500:]}\n{err[-3000:]}"
    return [out for out, _ in said]


def launched(
    tmp_path: Path,
    source: str,
    *options: str,
    arguments: Sequence[str] = (),
    timeout_s: float = 240,
) -> subprocess.CompletedProcess:
    """Run a program through `manyhands run`."""
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(source))
    return subprocess.run(
        [sys.executable, "-m", "manyhands.cli.main", "run", *options, str(script), *arguments],
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def last_json(text: str):
    """Read the last line that is JSON."""
    for line in reversed(text.splitlines()):
        start_at = line.find("{")
        if start_at >= 0:
            return json.loads(line[start_at:])
    raise AssertionError(f"no JSON in: {text[-2000:]}")
