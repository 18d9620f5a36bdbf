"""`manyhands run --processes N`: one screen, one exit code, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from manyhands.devices import nvml
from tests.cluster.groups import clean_environment, launched
from tests.disks import mounted

TELLS = """
import os, sys
index = os.environ["MANYHANDS_PROCESS_INDEX"]
print("hello from", index, "of", os.environ["MANYHANDS_NUM_PROCESSES"], sys.argv[1:])
"""
WAITS = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open(os.path.join(sys.argv[1], os.environ["MANYHANDS_PROCESS_INDEX"]), "w").write(
    f"{os.getpid()} {child.pid}")
print("ready", flush=True)
time.sleep(600)
"""


def test_every_line_has_its_process_and_every_process_its_file(tmp_path):
    logs = tmp_path / "logs"
    done = launched(
        tmp_path,
        TELLS,
        "--no-shim",
        "--processes",
        "3",
        "--log-dir",
        str(logs),
        arguments=["--epochs", "2"],
    )
    assert done.returncode == 0, done.stderr
    lines = sorted(done.stdout.splitlines())
    assert lines == [f"[{i}] hello from {i} of 3 ['--epochs', '2']" for i in range(3)]
    assert sorted(path.name for path in logs.iterdir()) == [f"process-{i}.log" for i in range(3)]
    assert "hello from 1" in (logs / "process-1.log").read_text()


def test_the_first_that_fails_decides_and_says_its_last_words(tmp_path):
    source = """
    import os, sys, time
    if os.environ["MANYHANDS_PROCESS_INDEX"] == "1":
        print("about to fail")
        sys.exit(7)
    time.sleep(60)
    """
    done = launched(tmp_path, source, "--no-shim", "--processes", "2")
    assert done.returncode == 7
    assert "process 1 ended with exit code 7" in done.stderr
    assert "the last lines of process 1:\n  about to fail" in done.stderr


def test_a_kill_is_told_from_an_exit(tmp_path):
    source = """
    import os, signal
    os.kill(os.getpid(), signal.SIGKILL)
    """
    done = launched(tmp_path, source, "--no-shim", "--processes", "1")
    assert done.returncode == 137
    assert "signal 9 SIGKILL (the kernel does that when memory runs out)" in done.stderr


def test_it_starts_again_so_often(tmp_path):
    source = """
    import os, sys
    print("attempt", os.environ["MANYHANDS_ATTEMPT"])
    sys.exit(3 if os.environ["MANYHANDS_ATTEMPT"] in "01" else 0)
    """
    done = launched(tmp_path, source, "--no-shim", "--processes", "1", "--max-restarts", "2")
    assert done.returncode == 0
    assert "restart 2 of 2" in done.stderr
    assert done.stdout.splitlines() == [f"[0] attempt {i}" for i in range(3)]
    done = launched(tmp_path, source, "--no-shim", "--processes", "1", "--max-restarts", "1")
    assert done.returncode == 3


def test_one_process_is_started_again_too(tmp_path):
    source = """
    import os, sys
    print("attempt", os.environ["MANYHANDS_ATTEMPT"], os.environ.get("MANYHANDS_COORDINATOR"))
    sys.exit(3 if os.environ["MANYHANDS_ATTEMPT"] == "0" else 0)
    """
    done = launched(tmp_path, source, "--no-shim", "--max-restarts", "2")
    assert done.returncode == 0
    assert done.stdout.splitlines() == ["[0] attempt 0 None", "[0] attempt 1 None"]
    assert "starting again (restart 1 of 2)" in done.stderr


JOINED = """
import sys, time
import manyhands as mh
strategy = mh.MultiWorkerMirroredStrategy()
index = strategy.group.index
"""


def test_whose_program_failed_is_blamed(tmp_path):
    source = JOINED + "if index: raise ValueError('as asked')\nstrategy.group.agree('the rest', 1)"
    done = launched(tmp_path, source, "--no-shim", "--processes", "2")
    assert done.returncode == 1
    assert "process 1 ended with exit code 1; the group ends" in done.stderr
    assert "ValueError: as asked" in done.stderr
    assert "process 1 was lost: its program ended with ValueError: as asked" in done.stdout


@pytest.mark.parametrize("failing", [0, 1])
def test_who_left_before_the_others_is_named(tmp_path, failing):
    source = JOINED + f"if index == {failing}: sys.exit()\nstrategy.group.agree('the rest', 1)"
    done = launched(tmp_path, source, "--no-shim", "--processes", "2", timeout_s=50)
    assert done.returncode
    told = f"process {failing} has ended its program, while others wait for it at: the rest"
    assert told in done.stdout


def test_a_process_that_keeps_dying_is_left_out(tmp_path):
    source = """
    import os, sys
    sys.exit(5 if os.environ["MANYHANDS_PROCESS_INDEX"] == "2" else 0)
    """
    options = ["--no-shim", "--processes", "3", "--max-restarts", "5", "--min-processes", "2"]
    done = launched(tmp_path, source, *options)
    assert done.returncode == 0
    assert "process 2 died twice in a row; going on without it" in done.stderr
    assert "starting again with 2 processes" in done.stderr


def test_a_program_may_ask_to_be_started_again(tmp_path):
    source = """
    import os, sys
    sys.exit(75 if os.environ["MANYHANDS_ATTEMPT"] == "0" else 0)
    """
    done = launched(tmp_path, source, "--no-shim", "--processes", "2")
    assert done.returncode == 0
    assert "asked to be started again" in done.stderr


@pytest.fixture
def waiting(tmp_path):
    """Start a launcher whose processes wait, with children of their own."""
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(WAITS))
    command = ["-m", "manyhands.cli.main", "run", "--no-shim", "--processes", "2"]
    running = subprocess.Popen(
        [sys.executable, *command, str(script), str(tmp_path)],
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    for _ in range(2):
        assert "ready" in running.stdout.readline()
    pids = [int(pid) for i in range(2) for pid in (tmp_path / str(i)).read_text().split()]
    assert all(map(alive, pids))
    yield running, pids
    running.kill()
    running.communicate(timeout=60)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until_gone(pids, timeout_s=20.0):
    until = time.monotonic() + timeout_s
    while time.monotonic() < until and any(map(alive, pids)):
        time.sleep(0.05)
    return [pid for pid in pids if alive(pid)]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_killing_the_launcher_kills_everything(waiting):
    running, pids = waiting
    os.kill(running.pid, signal.SIGKILL)
    assert wait_until_gone(pids) == []


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_everything(waiting, number, code):
    running, pids = waiting
    os.kill(running.pid, number)
    assert running.wait(30) == code
    assert wait_until_gone(pids) == []


CHATTY = """
for line in range(20_000):
    print("line", line, "x" * 40)
"""


def test_a_full_disk_for_the_logs_stops_nobody(tmp_path):
    with mounted(tmp_path / "small", "size=200k") as disk:
        done = launched(tmp_path, CHATTY, "--processes", "2", "--log-dir", str(disk), timeout_s=60)
    assert done.returncode == 0
    assert done.stderr.count("is not written any more: No space left on device") == 2
    assert len(done.stdout.splitlines()) == 40_000


def test_a_log_that_cannot_be_opened_stops_nobody(tmp_path):
    (tmp_path / "logs" / "process-0.log").mkdir(parents=True)
    logs = str(tmp_path / "logs")
    done = launched(tmp_path, CHATTY, "--processes", "1", "--log-dir", logs, timeout_s=60)
    assert done.returncode == 0
    assert "process-0.log is not written any more: Is a directory" in done.stderr


def test_a_screen_that_takes_no_more_stops_nobody(tmp_path):
    script = tmp_path / "chatty.py"
    script.write_text(CHATTY)
    command = [sys.executable, "-m", "manyhands.cli.main", "run", "--processes", "2", str(script)]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command, stdout=full, env=clean_environment(), timeout=60, check=False
        )
    assert done.returncode == 0


def test_a_program_that_only_asks_to_be_started_again_is_not_for_ever(tmp_path):
    source = "import sys; sys.exit(75)"
    done = launched(tmp_path, source, "--no-shim", "--processes", "1", timeout_s=60)
    assert done.returncode == 75
    assert "asked so 5 times, at once each time" in done.stderr


@pytest.mark.parametrize(
    ("options", "fix"),
    [
        (["--processes", "0"], "--processes 4"),
        (["--processes", "2", "--nodes", "2"], "--coordinator host:port"),
        (["--nodes", "2", "--node-rank", "2", "--coordinator", "h:1"], "--node-rank 0"),
        (["--processes", "2", "--min-processes", "3"], "choose fewer"),
        (["--processes", "2", "--heartbeat", "0"], "got: --heartbeat 0"),
        (["--processes", "2", "--timeout", "-3"], "got: --timeout -3"),
        (["--processes", "2", "--devices", "0"], "got: --devices 0"),
        (["--processes", "2", "--coordinator", "nowhere"], "got: --coordinator nowhere"),
        (["--nodes", "0"], "got: --nodes 0"),
        (["--node-rank", "1"], "--nodes 1 --node-rank 1"),
        (["--min-processes", "0"], "got: --min-processes 0"),
        (["--max-restarts", "-1"], "--max-restarts 3"),
        (["--processes", "1", "--log-dir", "/proc/nowhere"], "name a directory"),
        (["--processes", "2", "--memory-limit", "much"], "--memory-limit 0.4"),
        (["--processes", "3", "--memory-limit", "0.5"], "--memory-limit 0.33 or less"),
        pytest.param(
            ["--processes", "2", "--memory-limit", "4GB"],
            "--memory-limit 0.4",
            marks=pytest.mark.skipif(bool(nvml.read(None).gpus), reason="a GPU makes sense of it"),
        ),
    ],
)
def test_options_that_make_no_sense(tmp_path, options, fix):
    done = launched(tmp_path, TELLS, *options)
    assert done.returncode == 1
    assert fix in done.stderr.replace("\n", " ")


def test_machines_without_a_scheduler(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(TELLS)
    machines = [
        subprocess.Popen(
            [
                *(sys.executable, "-m", "manyhands.cli.main", "run", "--no-shim"),
                *("--processes", "2", "--nodes", "2", "--node-rank", str(rank)),
                *("--coordinator", "127.0.0.1:4711", str(script)),
            ],
            env=clean_environment(),
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    said = [sorted(machine.communicate(timeout=60)[0].splitlines()) for machine in machines]
    assert said == [
        [f"[{2 * rank + i}] hello from {2 * rank + i} of 4 []" for i in range(2)]
        for rank in range(2)
    ]
