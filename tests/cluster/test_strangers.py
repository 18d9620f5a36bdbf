"""Strangers at the door harm nobody: neither who only says something, nor who comes first."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading

import pytest

from manyhands.cluster import first_exchange
from manyhands.cluster.doors import sockets
from manyhands.cluster.listening import secluded
from tests.cluster.groups import clean_environment
from tests.cluster.meetings import Meeting, in_threads, never_exit  # noqa: F401
from tests.cluster.strangers import WORDS, Strangers
from tests.waiting import wait_until

PROGRAM = """
import manyhands as mh
strategy = mh.MultiWorkerMirroredStrategy()
import keras, numpy as np
x = np.ones((64, 4), "float32")
with strategy.scope():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
model.fit(x, x[:, :1], epochs=2, verbose=0)
print("trained")
"""


def trained_among_strangers(tmp_path, **how):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    command = ["-m", "manyhands.cli.main", "run", "--no-shim", "--processes", "2", str(script)]
    with subprocess.Popen(
        [sys.executable, *command],
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as running:
        strangers = Strangers(running.pid, **how)
        strangers.start()
        try:
            said, _ = running.communicate(timeout=120)
        finally:
            strangers.stop()
            running.kill()
    assert running.returncode == 0, said
    assert said.count("trained") == 2, said
    assert "Traceback" not in said
    return said, strangers.visited


def test_who_tries_every_port_harms_nobody(tmp_path):
    said, visited = trained_among_strangers(tmp_path, words=list(WORDS), exact=False)
    assert {word for word in WORDS if any(word in visit for visit in visited)} == {*WORDS}
    assert "could not exchange" not in said, "Gloo is not where they look"


def test_who_comes_first_to_the_very_address_is_found_out(tmp_path):
    """To the first four: process 0's, JAX's coordinator's, and those of Gloo, which is misled."""
    words = ["small numbers", *sorted(WORDS)]
    _, visited = trained_among_strangers(tmp_path, words=words, exact=True, most=4)
    assert len({visit.split()[0] for visit in visited}) == 4


@pytest.mark.parametrize("word", sorted(WORDS))
@pytest.mark.parametrize("token", ["", "secret"])
def test_whatever_is_said_to_process_0(capfd, word, token):
    meeting = Meeting(token=token)
    host, port = meeting.address.split(":")
    with socket.create_connection((host, int(port))) as stranger:
        stranger.sendall(WORDS[word] or b"")
        one, other = meeting.both()
        assert in_threads(lambda: one.agree("q", 1), lambda: other.agree("q", 2))[0] == [1, 2]
    assert "Traceback" not in capfd.readouterr().err


def test_a_token_that_is_no_text_is_refused_in_one_line():
    meeting = Meeting(token="secret")
    host, port = meeting.address.split(":")
    with socket.create_connection((host, int(port))) as stranger:
        stranger.sendall(WORDS["a token that is no text"] or b"")
        assert b"MANYHANDS_TOKEN is not process 0's" in stranger.recv(1000)
    one, other = Meeting(token="\udcff\udcfe").both()  # as Python reads bytes that do not decode
    assert in_threads(lambda: one.agree("q", 1), lambda: other.agree("q", 2))[0] == [1, 2]


def test_more_strangers_than_files(monkeypatch):
    monkeypatch.setattr("manyhands.cluster.roll_call._MOST_STRANGERS", 8)
    meeting = Meeting()
    host, port = meeting.address.split(":")
    silent = [socket.create_connection((host, int(port))) for _ in range(40)]
    one, other = meeting.both()
    assert in_threads(lambda: one.agree("q", 1), lambda: other.agree("q", 2))[0] == [1, 2]
    # Long before the ten seconds are over that each may be silent:
    wait_until(
        lambda: [t.name for t in threading.enumerate()].count("manyhands-guest") < 20, timeout_s=5
    )
    for stranger in silent:
        stranger.close()


def test_a_guest_that_speaks_nonsense_later_is_lost(capfd):
    meeting = Meeting()
    one, _ = meeting.both()
    meeting.line_of[1].send({"kind": "answer"})
    assert one.hears_of_a_loss(5.0)
    assert "worker 1 (h1:1) was lost: what it said makes no sense" in capfd.readouterr().err


def test_gloo_is_not_where_everybody_looks():
    found = {secluded("127.0.0.1") for _ in range(9)}
    assert len(found) > 1
    assert all(host.startswith("127.") for host in found)
    assert secluded("10.1.2.3") == "10.1.2.3"


def test_the_sockets_of_this_process():
    with socket.create_server(("127.0.0.1", 0)) as server:
        door = f"127.0.0.1:{server.getsockname()[1]}"
        with socket.create_connection(server.getsockname()) as client, server.accept()[0]:
            now = sockets()
            assert door in now.doors
            own = f"127.0.0.1:{client.getsockname()[1]}"
            assert now.visitors(frozenset({door})) == [own]
            assert (own, door) in now.ends


TOLD = {"done": True, "error": "", "doors": ["10.0.0.1:7"], "visitors": [], "ends": [], "late": 0}


def test_what_is_waited_for_is_named():
    one, _ = Meeting().both()
    stuck = TOLD | {"done": False, "visitors": ["10.0.0.9:5"]}
    error = str(first_exchange._failed(one, [TOLD, stuck], 60))
    assert "10.0.0.9:5 came to worker 1 (h1:1) at 10.0.0.1:7" in error
    assert "fix: see that the processes reach each other at every port" in error
    late = TOLD | {"done": False, "late": True}
    error = str(first_exchange._failed(one, [TOLD, late], 60))
    assert "within 60 s" in error
    assert "worker 1 (h1:1) waits for the others at 10.0.0.1:7" in error
    with pytest.warns(match=r"10.0.0.9:5 came to worker 1[\s\S]*Keep port scanners"):
        first_exchange._say_why(one, [TOLD, stuck])
