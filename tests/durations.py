"""Which tests are slow, as measured: `make quick` leaves them out, `make test` begins with them.

In: tests/durations.json, the seconds of every test that takes long, with what it sets up; `make
durations` writes it anew.  Out: the mark `slow`, and an order of files.  A test that nobody has
measured is quick, and so is the quickest of each room that has no other.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest

MEASURED = Path(__file__).with_suffix(".json")
SLOW_S = 0.5
TOO_SLOW_S = 5.0
WORTH_NOTING_S = 0.3


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--write-durations", action="store_true", help=f"write {MEASURED.name}, for `make quick`"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes long, as tests/durations.json has it")
    if config.getoption("--write-durations") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Measuring(), "durations")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    measured: dict[str, float] = json.loads(MEASURED.read_text()) if MEASURED.exists() else {}
    rooms: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        rooms[item.nodeid.split("/test_")[0]].append(item)
    for tests in rooms.values():
        quickest = min(measured.get(item.nodeid, 0.0) for item in tests)
        limit_s = max(SLOW_S, quickest) if quickest < TOO_SLOW_S else SLOW_S
        for item in tests:
            if measured.get(item.nodeid, 0.0) > limit_s:
                item.add_marker("slow")
    long_ones_first(items, measured)


def long_ones_first(items: list[pytest.Item], measured: dict[str, float]) -> None:
    """Begin with the files that take longest: nobody waits at the end for the last of them."""
    seconds: dict[str, float] = defaultdict(float)
    for item in items:
        seconds[_file(item.nodeid)] += measured.get(item.nodeid, 0.0)
    items.sort(key=lambda item: -seconds[_file(item.nodeid)])  # within a file they stay in order


def _file(nodeid: str) -> str:
    return nodeid.split("::")[0]


class _Measuring:
    """Adds up what a test takes, and writes down the long ones."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] += report.duration

    def pytest_sessionfinish(self) -> None:
        noted = {n: round(s, 1) for n, s in sorted(self._seconds.items()) if s > WORTH_NOTING_S}
        MEASURED.write_text(json.dumps(noted, indent=0) + "\n")
