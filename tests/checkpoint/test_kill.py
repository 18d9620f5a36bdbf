"""kill -9 at any instant leaves the last complete checkpoint as the latest."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from manyhands.checkpoint import Checkpoint, latest_checkpoint
from manyhands.checkpoint.manifest import Damage, read_manifest
from tests.checkpoint.saving_program import objects, steps_in

NUM_KILLS = 30
LONGEST_S = 0.5


@pytest.fixture
def program():
    """Start the saving program; it forks a child for each directory we name."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.checkpoint.saving_program"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={
            k: v
            for k, v in os.environ.items()
            if not k.startswith(("MANYHANDS_", "XLA_CLIENT_", "XLA_PYTHON_"))
        },
    )
    yield process
    process.kill()
    process.communicate()


def kill_after(program, directory, delay_s):
    """Let a child save into a directory, and kill it after a while."""
    program.stdin.write(f"{directory}\n")
    program.stdin.flush()
    child = int(program.stdout.readline())
    time.sleep(delay_s)
    os.kill(child, signal.SIGKILL)
    assert program.stdout.readline() == "gone\n"


def completed(directory):
    """Return the last number whose save was complete, as the program itself saw it."""
    lines = (directory / "done").read_text().split("\n")[:-1]
    return int(lines[-1]) if lines else 0


def test_thirty_kills(program, tmp_path):
    chosen = random.Random(3)
    caught_writing = 0
    for number in range(NUM_KILLS):
        directory = tmp_path / f"run-{number // 6}"  # six lives for each directory
        directory.mkdir(exist_ok=True)
        kill_after(program, directory, chosen.uniform(0, LONGEST_S))
        caught_writing += any(".part-" in name for name in os.listdir(directory))
        path = latest_checkpoint(directory)
        if path is None:
            assert completed(directory) == 0
            continue
        things = objects()
        Checkpoint(**things).restore(path).assert_consumed()
        (step,) = steps_in(things)
        assert step >= completed(directory)
        _assert_visible_ones_are_whole(directory)
    assert caught_writing >= NUM_KILLS // 4, "the kills are meant to fall into saves"


def _assert_visible_ones_are_whole(directory):
    for path in directory.glob("ckpt-*"):
        try:
            read_manifest(path)
        except Damage as damage:
            pytest.fail(f"{path} is visible and not whole: {damage}")
