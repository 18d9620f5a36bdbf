"""Processes stop together; one that goes another way is named: real sockets, without JAX."""

from __future__ import annotations

import threading
import time

import pytest

from manyhands.cluster.trail import EVERY
from manyhands.errors import ProcessLostError
from tests.cluster.meetings import Meeting, in_threads, never_exit  # noqa: F401


def test_who_holds_up_the_others_is_shown(monkeypatch, capfd):
    monkeypatch.setattr("manyhands.cluster.group._BEAT_S", 0.1)
    meeting = Meeting(silence_s=20.0, limit_s=0.8)
    one, other = meeting.both()
    other.at_step(41)
    with pytest.raises(ProcessLostError, match=r"waited 1 s for worker 1 \(h1:1\)"):
        one.agree("the epoch", 1)
    told = capfd.readouterr().err
    assert "worker 1 (h1:1): running the program, step 41" in told
    assert "worker 0 (h0:1): waiting for the others at: the epoch" in told
    assert "test_who_holds_up_the_others_is_shown" in told  # in the stack of this very thread


def test_all_stop_after_the_same_step():
    one, other = Meeting().both()
    stopped = {}

    def run(group, number):
        for step in range(1, 2000):
            time.sleep(0.001 * (number + 1))
            if number == 1 and step == 20:
                group.stops.wish()
            if group.stops.reached(1):
                stopped[number] = step
                return

    in_threads(lambda: run(one, 0), lambda: run(other, 1))
    assert stopped[0] == stopped[1] < 1000


def test_steps_are_counted_over_fits():
    """One is at the begin of its second fit while the other is between the two."""
    one, other = Meeting().both()
    for group in (one, other):
        assert not any(group.stops.reached(1) for _ in range(100))
    assert not one.stops.reached(1)
    one.stops.wish()
    time.sleep(0.3)
    stopped = [
        next(step for step in range(first, 200) if group.stops.reached(1))
        for group, first in ((one, 102), (other, 101))
    ]
    assert stopped[0] == stopped[1] == 102


def test_other_launches_are_noticed_while_the_program_runs(capsys):
    one, other = Meeting().both()
    for launch in range(EVERY):
        one.trail.note("step 1")
        other.trail.note("step 2" if launch == 40 else "step 1")
    until = time.monotonic() + 5
    while not one.hears_of_a_loss(0.1) and time.monotonic() < until:
        pass
    assert "have not run the same steps" in capsys.readouterr().err


def test_everybody_waiting_elsewhere_is_shown(capfd):
    one, other = Meeting(limit_s=1.0).both(timeout_s=20.0)

    def computes():
        with other.waiting("computing a step with the others"):
            other.hears_of_a_loss(8.0)

    told = in_threads(lambda: one.agree("the epoch", 1), computes)
    assert isinstance(told[0], ProcessLostError)
    assert "All have waited 1 s for each other" in str(told[0])
    assert "worker 1 (h1:1): computing a step with the others" in capfd.readouterr().err


def test_waits_of_threads_that_read_ahead_do_not_count():
    one, _ = Meeting().both()
    begun, go_on = threading.Event(), threading.Event()

    def reads_ahead():
        with one.waiting("waiting for the others at: the next batch"):
            begun.set()
            go_on.wait(5)

    with one.waiting("computing a step with the others"):
        feed = threading.Thread(target=reads_ahead, name="manyhands-feed_0")
        feed.start()
        begun.wait(5)
        assert one._now()["doing"] == "computing a step with the others"
    one.at_step(3)
    assert one._now() == {"doing": "running the program", "step": 3}
    go_on.set()
    feed.join()
    assert one._now() == {"doing": "running the program", "step": 3}


def test_process_0_stays_while_others_work(monkeypatch):
    monkeypatch.setattr("manyhands.cluster.hub._PATIENCE_S", 0.2)
    meeting = Meeting()
    one, other = meeting.both()
    said, ended = [], []
    one.leave()
    waits = threading.Thread(target=lambda: ended.append(meeting.hub.wait_for_byes(said.append)))
    waits.start()
    time.sleep(0.7)
    assert waits.is_alive()
    assert said == ["this program has ended; waiting for worker 1 (h1:1)."]
    other.leave()
    waits.join(5)
    assert ended == [""]


def test_ends_after_other_launches_are_said():
    meeting = Meeting()
    one, other = meeting.both()
    one.trail.note("a step")
    one.leave()
    other.leave()
    reason = meeting.hub.wait_for_byes(lambda _: None)
    assert "worker 0 (h0:1): 1 launches, the last a step" in reason
    assert "worker 1 (h1:1): no launch" in reason
