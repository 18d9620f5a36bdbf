"""Killed anywhere, stopped anywhere: training goes on to the same weights."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from tests.cluster.groups import clean_environment, free_ports, last_json, tf_configs
from tests.disks import mounted
from tests.once import once
from tests.waiting import wait_for_line, wait_until

PROGRAM = str(Path(__file__).parent / "survival_program.py")
NUM_KILLS = 20
LONG = ["--epochs", "40", "--every-steps", "2"]


def start(directory, *options, arguments=(), program=PROGRAM, **environment):
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "manyhands.cli.main", "run", "--no-shim"),
            *(*options, program, str(directory), *arguments),
        ],
        env=clean_environment(**environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(running, timeout_s=300):
    out, err = running.communicate(timeout=timeout_s)
    assert running.returncode == 0, f"{out[-2000:]}\n{err[-3000:]}"
    return last_json(out), err


def children_of(pid, program="survival_program"):
    """List the training processes of a launcher."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            command = (entry / "cmdline").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if parent == pid and program in command:
            found.append(int(entry.name))
    return found


def two_machines(directory, *options, scheduler=None):
    """Start a launcher for each of two machines, which find each other by address."""
    coordinator = f"127.0.0.1:{free_ports(1)[0]}"
    slow = ["--float64", "--seconds-a-step", "0.2"]
    if scheduler == "TF_CONFIG":
        return [
            start(directory, *options, arguments=slow, TF_CONFIG=config) for config in tf_configs(2)
        ]
    return [
        start(
            directory,
            *("--processes", "1", "--nodes", "2", "--node-rank", rank),
            *("--coordinator", coordinator, *options),
            arguments=slow,
        )
        for rank in ("0", "1")
    ]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """What the program gives when nothing happens."""

    def run(folder):
        told = {}
        for name, arguments in (("long", LONG), ("short", ["--float64"])):
            running = start(folder / name, "--processes", "2", arguments=arguments)
            told[name] = finished(running)[0]
        (folder / "told.json").write_text(json.dumps(told))

    return json.loads((once(tmp_path_factory, "survival", run) / "told.json").read_text())


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
class TestSurvival:
    @pytest.mark.timeout(900)
    def test_twenty_random_kills(self, undisturbed, tmp_path):
        chosen = random.Random(5)
        slow = [*LONG, "--seconds-a-step", "0.3"]
        running = start(tmp_path, "--processes", "2", "--max-restarts", "99", arguments=slow)
        kills = 0

        def disturb():
            nonlocal kills
            while kills < NUM_KILLS and running.poll() is None:
                time.sleep(chosen.uniform(0.0, 5.0))
                victims = children_of(running.pid)
                if victims:
                    os.kill(chosen.choice(victims), signal.SIGKILL)
                    kills += 1
            (tmp_path / "hurry").touch()

        killer = threading.Thread(target=disturb)
        killer.start()
        told, err = finished(running, timeout_s=900)
        killer.join(60)
        assert kills == NUM_KILLS
        assert err.count("starting again") >= NUM_KILLS / 2  # two kills may hit one attempt
        assert told == undisturbed["long"]

    def test_fewer_processes_go_on_to_the_same_numbers(self, undisturbed, tmp_path):
        slow = ["--float64", "--seconds-a-step", "0.2"]
        running = start(tmp_path, "--processes", "2", arguments=slow)
        wait_until(lambda: list(tmp_path.glob("ckpt-2*")), running)
        os.kill(children_of(running.pid)[1], signal.SIGKILL)
        running.communicate(timeout=60)
        told, _ = finished(start(tmp_path, "--processes", "1", arguments=["--float64"]))
        for name in ("total", "loss"):
            np.testing.assert_allclose(told[name], undisturbed["short"][name], rtol=1e-9)

    def test_sigterm_saves_and_the_next_start_goes_on(self, undisturbed, tmp_path):
        slow = ["--float64", "--seconds-a-step", "0.2", "--every-steps", "1000"]
        running = start(tmp_path, "--processes", "2", arguments=slow)
        wait_for_line(running, "training since")
        running.send_signal(signal.SIGTERM)
        _, err = running.communicate(timeout=60)
        assert running.returncode == 75, err
        assert list(tmp_path.glob("ckpt-1*"))
        told, _ = finished(start(tmp_path, "--processes", "2", arguments=["--float64"]))
        assert told == undisturbed["short"]

    def test_a_process_that_hangs_is_ended(self, undisturbed, tmp_path):
        slow = ["--float64", "--seconds-a-step", "0.3"]
        options = ["--processes", "2", "--max-restarts", "3", "--heartbeat", "10"]
        running = start(tmp_path, *options, arguments=slow)
        wait_until(lambda: list(tmp_path.glob("ckpt-1*")), running)
        victim = children_of(running.pid)[1]
        os.kill(victim, signal.SIGSTOP)
        told, err = finished(running)
        assert "process 1 hangs" in err
        assert told == undisturbed["short"]

    def test_every_process_stops_early_where_it_would_have(self, tmp_path):
        early = ["--float64", "--early", "--epochs", "40", "--every-steps", "1"]
        whole, _ = finished(start(tmp_path / "whole", "--processes", "2", arguments=early))
        assert 4 <= len(whole["loss"]) < 40
        cut, slow = tmp_path / "cut", ["--seconds-a-step", "0.05"]
        survive = ["--processes", "2", "--max-restarts", "1"]
        running = start(cut, *survive, arguments=[*early, *slow])
        wait_until(lambda: list(cut.glob("ckpt-1[0-9]")), running, every_s=0.02)
        os.kill(children_of(running.pid)[1], signal.SIGKILL)
        told, err = finished(running)
        assert "restart 1 of 1" in err
        assert told == whole

    @pytest.mark.parametrize("scheduler", [None, "TF_CONFIG"])
    def test_machines_start_again_together(self, undisturbed, tmp_path, scheduler):
        machines = two_machines(tmp_path, "--max-restarts", "3", scheduler=scheduler)
        wait_until(lambda: list(tmp_path.glob("ckpt-1*")), *machines)
        os.kill(children_of(machines[1].pid)[0], signal.SIGKILL)
        told, err = finished(machines[0])
        assert "stopped because another process was lost" in err
        _, err = machines[1].communicate(timeout=60)
        assert machines[1].returncode == 0, err
        assert "process 1 was ended by signal 9" in err
        assert told == undisturbed["short"]

    def test_a_machine_that_does_not_come_back_is_left_out(self, undisturbed, tmp_path):
        survive = ["--max-restarts", "1", "--min-processes", "1", "--timeout", "15"]
        machines = two_machines(tmp_path, *survive)
        wait_until(lambda: list(tmp_path.glob("ckpt-1*")), *machines)
        machines[1].kill()
        machines[1].communicate(timeout=60)
        told, _ = finished(machines[0])
        for name in ("total", "loss"):
            np.testing.assert_allclose(told[name], undisturbed["short"][name], rtol=1e-9)

    def test_a_directory_that_cannot_be_written_is_named(self, tmp_path):
        blocked = tmp_path / "file"
        blocked.write_text("not a directory")
        running = start(blocked, "--processes", "1")
        out, _ = running.communicate(timeout=120)
        assert running.returncode != 0
        assert str(blocked) in out


@pytest.fixture
def small_disk(tmp_path):
    """A disk with room for little more than one checkpoint."""
    with mounted(tmp_path / "disk", "size=1m") as disk:
        yield disk


def test_a_full_disk_does_not_stop_training(small_disk, tmp_path):
    running = start(small_disk / "runs", "--processes", "1", arguments=["--seconds-a-step", "0.2"])
    wait_until(lambda: list(small_disk.glob("runs/ckpt-1*")), running)
    (small_disk / "rubbish").write_bytes(b"x" * os.statvfs(small_disk).f_bavail * 4096)
    out, _ = running.communicate(timeout=120)
    assert "Training goes on" in out
    assert "free space or choose another directory" in out
    (small_disk / "rubbish").unlink()
    again, _ = finished(start(small_disk / "runs", "--processes", "1"))
    whole, _ = finished(start(tmp_path / "whole", "--processes", "1"))
    assert again == whole
