"""Two hosts, each in a network namespace of its own, joined by one cable."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.groups import clean_environment, last_json
from tests.waiting import wait_until

PROGRAM = str(Path(__file__).parent / "survival_program.py")


def ip(*words, check=True):
    return subprocess.run(["ip", *words], check=check, capture_output=True, text=True)


class Hosts:
    """Two machines and the cable between them."""

    def __init__(self):
        self.names = [f"mh{os.getpid()}{side}" for side in "ab"]
        self.addresses = ["10.77.3.1", "10.77.3.2"]

    def build(self):
        ends = [f"v{os.getpid() % 100000}{side}" for side in "ab"]
        for name in self.names:
            ip("netns", "add", name)
        ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
        for name, end, address in zip(self.names, ends, self.addresses, strict=True):
            ip("link", "set", end, "netns", name, "name", "cable")
            ip("-n", name, "addr", "add", f"{address}/24", "dev", "cable")
            ip("-n", name, "link", "set", "cable", "up")
            ip("-n", name, "link", "set", "lo", "up")

    def cut(self):
        ip("-n", self.names[1], "link", "set", "cable", "down")

    def remove(self):
        for name in self.names:
            ip("netns", "del", name, check=False)

    def start(self, directory, *arguments, **environment):
        cluster = {"worker": [f"{address}:2222" for address in self.addresses]}
        return [
            subprocess.Popen(
                [
                    *("ip", "netns", "exec", name, sys.executable, PROGRAM),
                    *(str(directory), *arguments),
                ],
                env=clean_environment(
                    TF_CONFIG=json.dumps(
                        {"cluster": cluster, "task": {"type": "worker", "index": index}}
                    ),
                    **environment,
                ),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for index, name in enumerate(self.names)
        ]


@pytest.fixture
def hosts():
    if sys.platform != "linux" or shutil.which("ip") is None or os.geteuid() != 0:
        pytest.skip("network namespaces need Linux, the ip command and root")
    built = Hosts()
    try:
        built.build()
    except subprocess.CalledProcessError as error:
        built.remove()
        pytest.skip(f"network namespaces are not allowed here: {error.stderr.strip()}")
    yield built
    built.remove()


def test_two_hosts_train_together(hosts, tmp_path):
    running = hosts.start(tmp_path / "two", "--float64")
    said = [one.communicate(timeout=120) for one in running]
    assert [one.returncode for one in running] == [0, 0], said
    alone = subprocess.run(
        [sys.executable, PROGRAM, str(tmp_path / "one"), "--float64"],
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    together, apart = last_json(said[0][0]), last_json(alone.stdout)
    assert together["total"] == pytest.approx(apart["total"], rel=1e-9)
    assert together["loss"] == pytest.approx(apart["loss"], rel=1e-9)


def test_a_host_that_is_cut_off_is_named_on_both_sides(hosts, tmp_path):
    running = hosts.start(
        tmp_path, "--seconds-a-step", "0.1", "--epochs", "400", MANYHANDS_HEARTBEAT="10"
    )
    wait_until(lambda: list(tmp_path.glob("ckpt-1*")), *running)
    hosts.cut()
    said = [one.communicate(timeout=120)[1] for one in running]
    assert all(one.returncode not in (0, None) for one in running)
    assert "worker 1 (10.77.3.2:2222) was lost: nothing was heard of it for 10 s" in said[0]
    assert "worker 0 (10.77.3.1:2222) was lost: nothing was heard of it for 10 s" in said[1]
    assert "this is what each process was doing" in said[0]
    assert "worker 0 (10.77.3.1:2222): waiting" in said[0] or "computing a train step" in said[0]
