"""A custom loop that saves with Checkpoint(iterator=…) survives as `fit` does."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.cluster.groups import launched
from tests.cluster.test_survival import children_of, finished, start
from tests.once import once
from tests.waiting import wait_until

PROGRAM = str(Path(__file__).parent / "survival_loop.py")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """What the loop gives when nothing happens."""

    def run(folder):
        running = start(folder / "run", "--processes", "2", program=PROGRAM)
        (folder / "told.json").write_text(json.dumps(finished(running)[0]))

    return json.loads((once(tmp_path_factory, "survival-loop", run) / "told.json").read_text())


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
class TestLoop:
    def test_killed_in_the_middle_it_ends_with_the_same_bits(self, undisturbed, tmp_path):
        slow = ["--seconds-a-step", "0.2"]
        survive = ["--processes", "2", "--max-restarts", "5"]
        running = start(tmp_path, *survive, arguments=slow, program=PROGRAM)
        for victim in (1, 0):
            seen = max_step(tmp_path)
            wait_until(lambda seen=seen: max_step(tmp_path) > seen, running)
            os.kill(children_of(running.pid, "survival_loop")[victim], signal.SIGKILL)
        (tmp_path / "hurry").touch()
        told, err = finished(running)
        assert err.count("was ended by signal 9") == 2
        assert told == undisturbed

    def test_another_number_of_processes_goes_on(self, undisturbed, tmp_path):
        slow = ["--seconds-a-step", "0.2"]
        running = start(tmp_path, "--processes", "2", arguments=slow, program=PROGRAM)
        wait_until(lambda: max_step(tmp_path) >= 2, running)
        running.kill()
        running.communicate(timeout=60)
        told, _ = finished(start(tmp_path, "--processes", "3", program=PROGRAM))
        for name in ("total", "last"):
            np.testing.assert_allclose(told[name], undisturbed[name], rtol=1e-9)


def test_any_process_may_be_the_one_that_saves(tmp_path):
    source = """
    import sys, manyhands as mh
    group = mh.MultiWorkerMirroredStrategy().group
    import keras, numpy as np
    kept = keras.Variable(np.arange(5.0)), keras.Variable(7, dtype="int32")
    if group.index == 1:
        checkpoint = mh.checkpoint.Checkpoint(kept=kept)
        checkpoint.write(sys.argv[1] + "/one")
        checkpoint.sync()
    group.agree("that it is saved", True)
    back = keras.Variable(np.zeros(5)), keras.Variable(0, dtype="int32")
    mh.checkpoint.Checkpoint(kept=back).read(sys.argv[1] + "/one").assert_consumed()
    print("found", back[0].numpy().sum(), int(back[1]))
    """
    done = launched(tmp_path, source, "--no-shim", "--processes", "2", arguments=[str(tmp_path)])
    assert done.stdout.count("found 10.0 7") == 2, done.stdout + done.stderr


def max_step(directory):
    """The number of the last checkpoint that is complete."""
    return max((int(path.name.split("-")[1]) for path in directory.glob("ckpt-*")), default=0)
