"""A hub and its guests, in one process, over real sockets."""

from __future__ import annotations

import threading

import pytest

from manyhands.cluster.arriving import arrive
from manyhands.cluster.group import Group
from manyhands.cluster.hub import Hub
from manyhands.cluster.listening import listen
from manyhands.cluster.membership import Member, Membership
from tests.cluster.groups import free_ports

MEMBERS = (Member(name="worker 0", address="h0:1"), Member(name="worker 1", address="h1:1"))


OPEN = []


class Meeting:
    """A hub, and guests that come to it."""

    def __init__(self, silence_s=30.0, token="", limit_s=300.0, least=None, address=None):
        OPEN.append(self)
        self.address = address or f"127.0.0.1:{free_ports(1)[0]}"
        self.token = token
        self.hub = Hub(
            listen(self.address),
            MEMBERS,
            token=token,
            start_jax=lambda num_processes: num_processes,
            least=least,
            silence_s=silence_s,
            limit_s=limit_s,
        )
        self.lines, self.line_of = [], {}
        self.groups = []

    def close(self):
        for group in self.groups:
            group._left = True
        self.hub._close()
        for guest in self.hub._guests:
            guest.line.close()
        for line in self.lines:
            line.close()

    def membership(self, index):
        return Membership(index=index, members=MEMBERS, coordinator=self.address)

    def arrive(self, index, timeout_s=5.0, token=None):
        hub = self.hub if index == 0 else None
        given = self.token if token is None else token
        arrival = arrive(self.membership(index), hub, timeout_s=timeout_s, token=given)
        self.lines.append(arrival.line)
        return arrival

    def both(self, timeout_s=10.0):
        lines = self.line_of
        guest = threading.Thread(target=lambda: lines.update({1: self.arrive(1).line}))
        guest.start()
        lines[0] = self.arrive(0).line
        guest.join()
        self.groups = [Group(self.membership(i), lines[i], timeout_s=timeout_s) for i in range(2)]
        return self.groups


@pytest.fixture(autouse=True)
def never_exit(monkeypatch):
    monkeypatch.setattr("manyhands.cluster.group._GRACE_S", 0.0)
    monkeypatch.setattr("manyhands.cluster.group.os._exit", lambda _: None)
    yield
    while OPEN:
        OPEN.pop().close()


def in_threads(*calls):
    results = [None] * len(calls)

    def run(place, call):
        try:
            results[place] = call()
        except Exception as error:
            results[place] = error

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return results
