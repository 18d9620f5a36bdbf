"""ClusterSpec is TensorFlow's, and says which field makes no sense."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manyhands.cluster import ClusterSpec
from manyhands.cluster.resolvers.tf_config import TFConfigClusterResolver
from manyhands.cluster.spec import split_address
from manyhands.errors import ClusterError

SPEC = ClusterSpec({"chief": ["a:1"], "worker": ["b:2", "c:3"]})


def test_it_answers_as_tensorflow_does():
    assert SPEC.jobs == ["chief", "worker"]
    assert SPEC.num_tasks("worker") == 2
    assert SPEC.task_address("worker", 1) == "c:3"
    assert SPEC.job_tasks("worker") == ["b:2", "c:3"]
    assert SPEC.as_dict() == {"chief": ["a:1"], "worker": ["b:2", "c:3"]}
    assert ClusterSpec(SPEC) == SPEC
    assert not ClusterSpec({})


def test_tasks_may_be_missing():
    sparse = ClusterSpec({"worker": {0: "a:1", 2: "c:1"}})
    assert sparse.task_indices("worker") == [0, 2]
    assert sparse.job_tasks("worker") == ["a:1", None, "c:1"]
    assert sparse.as_dict() == {"worker": {0: "a:1", 2: "c:1"}}


@pytest.mark.parametrize(("job", "task"), [("ps", 0), ("worker", 5)])
def test_what_is_not_there_is_a_value_error(job, task):
    with pytest.raises(ValueError, match=r"No such job|No task with index"):
        SPEC.task_address(job, task)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        (["a:1"], "cluster"),
        ({"worker": 3}, r"cluster\.worker"),
        ({"worker": ["a"]}, r"cluster\.worker\[0\]"),
        ({"worker": ["a:99999"]}, r"cluster\.worker\[0\]"),
        ({"worker": {"x": "a:1"}}, r"cluster\.worker"),
        ({3: ["a:1"]}, "cluster"),
    ],
)
def test_nonsense_is_named(given, field):
    with pytest.raises(ClusterError, match=field) as caught:
        ClusterSpec(given)
    assert "host1:2222" in str(caught.value)


BAD_HOSTS = [
    *("", " ", ".", "..", "a..b", ".a", "a b", "a\tb", "a\nb", "a\0b", "ä..b", "a/b", "a@b", "a,b"),
    *("x" * 64, f"a.{'x' * 64}.b", ".".join(["x" * 63] * 5), "ü" * 60, "[", "]", "[]", "[a]", "a]"),
    *(
        "[1.2.3.4]",
        "[::1",
        "::1]",
        "[[::1]]",
        "::g",
        "1:2:3",
        "[::1]x",
        "\ud800",
        "http://a",
        "a%b",
    ),
]
GOOD_HOSTS = [
    *("a", "host-1", "my_service", "a.b.c", "a.b.", "10.0.0.1", "x" * 63, "xn--mnchen-3ya.example"),
    *("münchen.example", "[::1]", "[fe80::1%eth0]", "[2001:db8::7]", "::1", "fe80::1", "A.B"),
]
BAD_PORTS = [
    "",
    " ",
    "0",
    "65536",
    "-1",
    "+1",
    "1.5",
    "x",
    "²",
    "٣",
    "1_0",
    "9" * 5000,
    "0x10",
    "1e3",
]
GOOD_PORTS = ["1", "2222", "65535", "08080"]


@pytest.mark.parametrize("host", BAD_HOSTS)
def test_hosts_that_cannot_be(host):
    _refused(f"{host}:2222")


@pytest.mark.parametrize("port", BAD_PORTS)
def test_ports_that_cannot_be(port):
    _refused(f"host:{port}")
    _refused(f"[::1]:{port}")


@pytest.mark.parametrize("host", GOOD_HOSTS)
@pytest.mark.parametrize("port", GOOD_PORTS)
def test_hosts_and_ports_that_can_be(host, port):
    address = f"{host}:{port}"
    assert ClusterSpec({"worker": [address]}).task_address("worker", 0) == address
    assert split_address(address) == (host.strip("[]"), int(port))


def _refused(address):
    for cluster in ({"worker": [address]}, {"worker": address}, {"worker": {0: address}}):
        with pytest.raises(ClusterError, match=r"fix: write .* or an IP address"):
            ClusterSpec(cluster)
    told = {"cluster": {"worker": [address]}, "task": {"type": "worker", "index": 0}}
    with pytest.raises(ClusterError, match=r"got: cluster\.worker\[0\] = "):
        TFConfigClusterResolver(environ={"TF_CONFIG": json.dumps(told)})


@given(address=st.text(max_size=80) | st.from_regex(r"[a-z0-9.\[\]:-]{0,70}:[0-9]{1,6}"))
def test_any_address_is_taken_or_refused_with_a_fix(address):
    if _error_of({"worker": [address]}) is None:
        host, port = split_address(address)
        assert port is not None
        host.encode("idna")  # what looking it up would do first


@given(index=st.integers() | st.text(max_size=12) | st.floats() | st.none() | st.booleans())
def test_any_number_of_a_task(index):
    if _error_of({"worker": {index: "a:1"}}) is None:
        assert ClusterSpec({"worker": {index: "a:1"}}).task_indices("worker") == [int(index)]


def _error_of(cluster):
    """Give the error of a cluster that makes no sense, which has to say what to do."""
    try:
        ClusterSpec(cluster)
    except ClusterError as found:
        error = found
    else:
        return None
    assert "\n  fix: write" in str(error)
    return error


def test_numbers_beyond_all_measure():
    for nonsense in ({"worker": {10**5000: "a:1"}}, {"worker": 10**5000}, {10**5000: ["a:1"]}):
        with pytest.raises(ClusterError, match="fix: write"):
            ClusterSpec(nonsense)
