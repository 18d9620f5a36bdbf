"""ClusterSpec is TensorFlow's, and says which field makes no sense."""

from __future__ import annotations

import pytest

from manyhands.cluster import ClusterSpec
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
