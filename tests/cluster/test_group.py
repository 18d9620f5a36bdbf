"""The hub and its guests, over real sockets, without JAX."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from manyhands.cluster.arriving import arrive
from manyhands.cluster.group import Group
from manyhands.cluster.listening import is_exposed, listen, warn_if_exposed
from manyhands.cluster.membership import Member, Membership
from manyhands.cluster.wire import Line, LineClosedError
from manyhands.errors import ClusterError, ManyhandsWarning, ProcessLostError
from tests.cluster.groups import free_ports
from tests.cluster.meetings import MEMBERS, Meeting, in_threads, never_exit  # noqa: F401


@pytest.fixture
def connected():
    """Give the two ends of a connection."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
        server.accept()[0] as accepted,
    ):
        yield client, accepted


def test_everybody_hears_everybody():
    one, other = Meeting().both()
    answers = in_threads(lambda: one.agree("q", {"a": 1}), lambda: other.agree("q", [2]))
    assert answers == [[{"a": 1}, [2]]] * 2


def test_channels_do_not_mix():
    one, other = Meeting().both()
    answers = in_threads(
        lambda: one.agree("q", 1),
        lambda: one.agree("r", 10, channel="feed"),
        lambda: other.agree("r", 20, channel="feed"),
        lambda: other.agree("q", 2),
    )
    assert answers == [[1, 2], [10, 20], [10, 20], [1, 2]]


def test_processes_that_do_different_things_are_named(capfd):
    one, other = Meeting().both()
    answers = in_threads(lambda: one.agree("fit", 1), lambda: other.agree("evaluate", 1))
    assert all(isinstance(answer, ProcessLostError) for answer in answers)
    assert "not doing the same" in str(answers[0])
    assert "has come to" in str(answers[0])
    assert "fit" in str(answers[0])
    assert "evaluate" in str(answers[0])
    assert "worker" in capfd.readouterr().err


def test_who_is_killed_is_named(capfd):
    meeting = Meeting()
    one, other = meeting.both()
    other._left = True
    threading.Timer(0.2, meeting.line_of[1].close).start()
    with pytest.raises(ProcessLostError, match=r"worker 1 \(h1:1\) was lost.*killed") as caught:
        one.agree("q", 1)
    assert "--max-restarts" in str(caught.value)
    time.sleep(0.2)
    assert "waiting for the others at: q" in capfd.readouterr().err


def test_who_ends_with_an_error_is_named():
    one, other = Meeting().both()
    threading.Timer(0.2, lambda: other.leave("ValueError: boom")).start()
    with pytest.raises(ProcessLostError, match="ended with ValueError: boom"):
        one.agree("q", 1)


def test_who_leaves_in_peace_is_not_lost():
    one, other = Meeting().both()
    other.leave()
    time.sleep(0.3)
    assert one.claim("still works")


def test_who_is_silent_is_lost(monkeypatch, capfd):
    monkeypatch.setattr("manyhands.cluster.group._BEAT_S", 0.1)
    meeting = Meeting(silence_s=2.0)
    one, other = meeting.both()
    monkeypatch.setattr(other, "_say", lambda message: None)  # hangs: nothing comes from it
    monkeypatch.setattr("manyhands.cluster.hub._REPORT_S", 0.3)
    with pytest.raises(ProcessLostError, match=r"worker 1.*nothing was heard"):
        one.agree("q", 1)
    assert "it did not answer: it is stopped, or cut off" in capfd.readouterr().err


def test_only_one_may_do_what_one_does_for_all():
    one, other = Meeting().both()
    claims = in_threads(lambda: one.claim("save 1"), lambda: other.claim("save 1"))
    assert sorted(claims) == [False, True]
    assert other.claim("another")
    assert not one.claim("another")


def test_secrets_may_have_any_letters():
    one, other = Meeting(token="schlüssel").both()
    assert in_threads(lambda: one.agree("q", 1), lambda: other.agree("q", 2)) == [[1, 2]] * 2
    meeting = Meeting(token="key")
    with pytest.raises(ClusterError, match="MANYHANDS_TOKEN"):
        meeting.arrive(1, timeout_s=2.0, token="clé")


def test_process_0_says_who_was_refused():
    meeting = Meeting(token="key")
    told = in_threads(
        lambda: meeting.arrive(0, timeout_s=1.0), lambda: meeting.arrive(1, 1.0, token="other")
    )
    assert "refused: 127.0.0.1: its MANYHANDS_TOKEN is not process 0's" in str(told[0])


def test_nonsense_from_strangers_ends_only_their_line(connected):
    client, accepted = connected
    client.sendall(b"[" * 100_000 + b"\n")
    with pytest.raises(LineClosedError, match="not JSON"):
        Line(accepted).receive(timeout_s=2.0)


def test_who_is_missing_is_named():
    with pytest.raises(ClusterError, match=r"missing: worker 1 \(h1:1\)") as caught:
        Meeting().arrive(0, timeout_s=0.5)
    assert "MANYHANDS_TIMEOUT" in str(caught.value)


def test_the_others_are_told_who_is_missing(monkeypatch):
    members = (*MEMBERS, Member(name="worker 2", address="h2:1"))
    monkeypatch.setattr("tests.cluster.meetings.MEMBERS", members)
    meeting = Meeting()
    told = in_threads(lambda: meeting.arrive(0, 0.8), lambda: meeting.arrive(1, 0.8))
    assert all("worker 2 (h2:1)" in str(error) for error in told)


def test_those_who_came_begin_where_they_are_enough(monkeypatch):
    members = (*MEMBERS, Member(name="worker 2", address="h2:1"))
    monkeypatch.setattr("tests.cluster.meetings.MEMBERS", members)
    meeting = Meeting(least=2)
    told = in_threads(lambda: meeting.arrive(0, 0.8), lambda: meeting.arrive(2, 0.8))
    assert [arrival.membership.index for arrival in told] == [0, 1]
    assert [arrival.jax_port for arrival in told] == [2, 2]
    assert told[1].membership.members == (members[0], members[2])
    groups = [Group(arrival.membership, arrival.line, timeout_s=5) for arrival in told]
    meeting.groups = groups
    answers = in_threads(lambda: groups[0].agree("q", 1), lambda: groups[1].agree("q", 2))
    assert answers == [[1, 2]] * 2
    with pytest.raises(ClusterError, match="begun without it"):
        meeting.arrive(1, 2.0)


def test_too_few_do_not_begin(monkeypatch):
    members = (*MEMBERS, Member(name="worker 2", address="h2:1"))
    monkeypatch.setattr("tests.cluster.meetings.MEMBERS", members)
    with pytest.raises(ClusterError, match=r"missing: worker 1 \(h1:1\), worker 2 \(h2:1\)"):
        Meeting(least=2).arrive(0, timeout_s=0.5)


def test_who_goes_before_it_began_may_come_again():
    meeting = Meeting()
    host, port = meeting.address.split(":")
    with socket.create_connection((host, int(port))) as early:
        Line(early).send({"kind": "hello", "index": 1, "size": 2, "token": ""})
        while meeting.hub.missing() != [0]:
            time.sleep(0.01)
    while meeting.hub.missing() != [0, 1]:
        time.sleep(0.01)
    one, other = meeting.both()
    assert in_threads(lambda: one.agree("q", 1), lambda: other.agree("q", 2))[0] == [1, 2]


def test_who_meets_a_group_that_is_ending_waits_for_the_next():
    ending = Meeting()
    ending.both()
    ending.hub._end("worker 1 was lost: it was killed.")
    late = threading.Thread(target=lambda: in_threads(lambda: ending.arrive(1, 20.0)))
    late.start()
    time.sleep(0.5)
    following = Meeting(address=ending.address)
    assert following.arrive(0).jax_port == 2
    late.join(10)
    assert not late.is_alive()


def test_process_0_that_never_comes_is_named():
    membership = Membership(index=1, members=MEMBERS, coordinator=f"127.0.0.1:{free_ports(1)[0]}")
    with pytest.raises(ClusterError, match=r"Process 0 could not be reached.*\n.*worker 0"):
        arrive(membership, None, timeout_s=0.5, token="")


def test_two_processes_with_one_task_are_refused():
    meeting = Meeting()
    threading.Thread(target=lambda: in_threads(lambda: meeting.arrive(1, 2.0))).start()
    time.sleep(0.3)
    with pytest.raises(ClusterError, match="two processes have the same task"):
        meeting.arrive(1, 2.0)


def test_a_stranger_without_the_secret_is_refused():
    with pytest.raises(ClusterError, match="MANYHANDS_TOKEN"):
        Meeting(token="secret").arrive(1, 2.0, token="guess")


@pytest.mark.parametrize(
    "rubbish", [b"\x00\xff\n", b"[]\n", b"{}\n", b"GET / HTTP/1.1\r\n\r\n", b""]
)
def test_rubbish_on_the_port_harms_nobody(rubbish):
    meeting = Meeting()
    host, port = meeting.address.split(":")
    with socket.create_connection((host, int(port))) as stranger:
        stranger.sendall(rubbish)
        one, other = meeting.both()
        assert in_threads(lambda: one.agree("q", 1), lambda: other.agree("q", 2))[0] == [1, 2]


def test_a_message_without_end_is_cut_off(monkeypatch, connected):
    monkeypatch.setattr("manyhands.cluster.wire._STRANGERS_BYTES", 1000)
    monkeypatch.setattr("manyhands.cluster.wire.MOST_BYTES", 2000)
    for trusted, most in ((False, 1000), (True, 2000)):
        line = Line(connected[1], stranger=True)
        if trusted:
            line.trust()
        monkeypatch.setattr("manyhands.cluster.wire._PIECE", 500)
        connected[0].sendall(b"x" * 4000)
        with pytest.raises(LineClosedError, match=f"more than {most} bytes"):
            line.receive()


def test_what_is_too_long_for_all_is_refused_where_it_is_said(monkeypatch):
    monkeypatch.setattr("manyhands.cluster.group.MOST_BYTES", 9000)
    one, other = Meeting().both()
    assert in_threads(lambda: one.agree("q", "x" * 2000), lambda: other.agree("q", 2))[1][1] == 2
    with pytest.raises(ClusterError, match=r"to hobbies is too long[\s\S]*fix: keep what"):
        one.agree("hobbies", "x" * 4000)


def test_long_messages_come_whole():
    one, other = Meeting().both()
    long = "x" * 30_000_000
    told = in_threads(lambda: one.agree("q", long), lambda: other.agree("q", 2))
    assert [answer == [long, 2] for answer in told] == [True, True]


def test_only_plain_data_crosses_a_line(connected):
    with pytest.raises(TypeError, match="JSON"):
        Line(connected[0]).send({"value": object()})


def test_a_taken_port_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ClusterError, match=rf"127\.0\.0\.1:{port}.*\n.*choose another port"):
            listen(f"127.0.0.1:{port}")


def test_loopback_is_not_exposed():
    with listen(f"127.0.0.1:{free_ports(1)[0]}") as server:
        assert server.getsockname()[0] == "127.0.0.1"
    assert [is_exposed(host) for host in ("127.0.0.1", "10.1.2.3", "8.8.8.8", "0.0.0.0", "::")] == [
        False,
        False,
        True,
        True,
        True,
    ]
    with pytest.warns(ManyhandsWarning, match="MANYHANDS_TOKEN"):
        warn_if_exposed("8.8.8.8", secret=False)
