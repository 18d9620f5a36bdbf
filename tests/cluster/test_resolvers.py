"""Who else is there, by TF_CONFIG, Slurm, Kubernetes, MPI and our own launcher."""

from __future__ import annotations

import contextlib
import json
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manyhands.cluster import (
    ClusterSpec,
    KubernetesClusterResolver,
    MPIClusterResolver,
    SimpleClusterResolver,
    SlurmClusterResolver,
    TFConfigClusterResolver,
    auto,
)
from manyhands.cluster.resolvers.slurm import expand_counts, expand_hosts
from manyhands.errors import ClusterError
from tests.programs import output_of

CLUSTER = {"chief": ["c:1"], "worker": ["w0:1", "w1:1"], "evaluator": ["e:1"]}


def tf_config(kind, index, cluster=CLUSTER):
    return {"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": kind, "index": index}})}


class TestTFConfig:
    def test_the_chief_is_first(self):
        resolver = TFConfigClusterResolver(environ=tf_config("worker", 1))
        assert resolver.cluster_spec() == ClusterSpec(CLUSTER)
        assert (resolver.task_type, resolver.task_id) == ("worker", 1)
        assert resolver.master() == "grpc://w1:1"
        assert resolver.master("worker", 0) == "grpc://w0:1"
        membership = resolver.membership()
        assert (membership.index, membership.size) == (2, 3)
        assert membership.coordinator == "c:1"
        assert str(membership.me) == "worker 1 (w1:1)"

    def test_an_evaluator_is_beside(self):
        membership = TFConfigClusterResolver(environ=tf_config("evaluator", 0)).membership()
        assert membership.is_evaluator
        assert membership.size == 1

    def test_nothing_is_a_single_process(self):
        resolver = TFConfigClusterResolver(environ={})
        assert resolver.master() == ""
        assert resolver.membership().size == 1

    @pytest.mark.parametrize(
        ("text", "field"),
        [
            ("{", "TF_CONFIG"),
            ("[]", "TF_CONFIG"),
            ('{"cluster": []}', "cluster"),
            ('{"cluster": {"worker": ["a"]}}', r"cluster\.worker\[0\]"),
            ('{"cluster": {"worker": ["a:1", "a:1"]}}', "cluster"),
            ('{"cluster": {"worker": ["a:1"]}}', r"task\.type"),
            ('{"cluster": {"worker": ["a:1"]}, "task": 3}', "task"),
            ('{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker"}}', r"task\.index"),
            (
                '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": "x"}}',
                r"task\.index",
            ),
            ('{"cluster": {"worker": ["a:1"]}, "task": {"type": 1, "index": 0}}', r"task\.type"),
            (
                '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 7}}',
                r"task\.index = 7",
            ),
            (
                '{"cluster": {"ps": ["a:1"], "worker": ["b:1"]}, '
                '"task": {"type": "worker", "index": 0}}',
                r"cluster\.ps",
            ),
        ],
    )
    def test_nonsense_is_named(self, text, field):
        with pytest.raises(ClusterError, match=field) as caught:
            TFConfigClusterResolver(environ={"TF_CONFIG": text}).membership()
        assert "\n  fix: " in str(caught.value)

    @given(st.text(max_size=60))
    def test_any_text_is_read_or_refused_by_name(self, text):
        assert self._is_read_or_refused(text)

    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["cluster", "task", "worker", "type", "index", "chief", "x"]),
                    inner,
                    max_size=4,
                )
            ),
            max_leaves=12,
        )
    )
    def test_any_json_is_read_or_refused_by_name(self, value):
        assert self._is_read_or_refused(json.dumps(value))

    @given(
        cluster=st.dictionaries(
            st.sampled_from(["worker", "chief", "evaluator", "ps", "master"]),
            st.lists(st.sampled_from(["a:1", "b:2", "c", ":5", "", "d:0"]), max_size=3),
            max_size=3,
        ),
        kind=st.sampled_from(["worker", "chief", "ps", "", "evaluator"]),
        index=st.integers(-2, 4),
    )
    def test_near_misses_are_read_or_refused_by_name(self, cluster, kind, index):
        given = {"cluster": cluster, "task": {"type": kind, "index": index}}
        assert self._is_read_or_refused(json.dumps(given))

    def _is_read_or_refused(self, text):
        membership = self._membership(text)
        if isinstance(membership, ClusterError):
            return "\n  got: " in str(membership)
        return 0 <= membership.index < membership.size

    def _membership(self, text):
        try:
            return TFConfigClusterResolver(environ={"TF_CONFIG": text}).membership()
        except ClusterError as error:
            return error


SLURM = {
    "SLURM_PROCID": "3",
    "SLURM_STEP_NUM_TASKS": "4",
    "SLURM_STEP_NODELIST": "gpu[01-02]",
    "SLURM_STEP_TASKS_PER_NODE": "2(x2)",
}


class TestSlurm:
    def test_a_job_step(self):
        resolver = SlurmClusterResolver(environ=SLURM)
        assert resolver.cluster_spec().as_dict() == {
            "worker": ["gpu01:8888", "gpu01:8889", "gpu02:8888", "gpu02:8889"]
        }
        assert resolver.get_task_info() == ("worker", 3)

    def test_jobs_may_be_named(self):
        resolver = SlurmClusterResolver({"chief": 1, "worker": 3}, environ=SLURM)
        assert (resolver.task_type, resolver.task_id) == ("worker", 2)
        assert resolver.membership().index == 3

    @pytest.mark.parametrize(
        ("text", "hosts"),
        [
            ("n1", ["n1"]),
            ("n[1-3,07],login", ["n1", "n2", "n3", "n07", "login"]),
            ("r[1-2]n[01-02]", ["r1n01", "r1n02", "r2n01", "r2n02"]),
            ("a-b-[9-11].x", ["a-b-9.x", "a-b-10.x", "a-b-11.x"]),
        ],
    )
    def test_lists_of_hosts(self, text, hosts):
        assert expand_hosts(text) == hosts

    def test_numbers_of_tasks(self):
        assert expand_counts("2(x3),1") == [2, 2, 2, 1]

    @given(st.text("n[]-,01x ()", max_size=12))
    def test_any_text_is_read_or_refused(self, text):
        for expand in (expand_hosts, expand_counts):
            with contextlib.suppress(ClusterError):  # any other error fails the test
                assert expand(text)

    @pytest.mark.parametrize("name", sorted(SLURM))
    def test_a_variable_that_is_nonsense_is_named(self, name):
        with pytest.raises(ClusterError, match="Slurm"):
            SlurmClusterResolver(environ=SLURM | {name: "[x"}).membership()


class TestKubernetes:
    def test_an_indexed_job(self):
        found = {
            "KUBERNETES_SERVICE_HOST": "10.0.0.1",
            "JOB_COMPLETION_INDEX": "1",
            "MANYHANDS_NUM_PROCESSES": "2",
            "MANYHANDS_COORDINATOR": "train-0.train:2222",
        }
        membership = auto(found).membership()
        assert (membership.index, membership.size) == (1, 2)
        assert membership.coordinator == "train-0.train:2222"

    def test_a_stateful_set(self):
        found = {
            "HOSTNAME": "train-2",
            "MANYHANDS_NUM_PROCESSES": "4",
            "MANYHANDS_COORDINATOR": "train-0.train:2222",
        }
        assert KubernetesClusterResolver(environ=found).membership().index == 2

    def test_pods_by_label(self):
        def pod(name, address, phase="Running"):
            return SimpleNamespace(
                metadata=SimpleNamespace(name=name),
                status=SimpleNamespace(phase=phase, pod_ip=address),
            )

        pods = [pod("b", "10.0.0.2"), pod("a", "10.0.0.1")]

        class Api:
            def list_pod_for_all_namespaces(self, label_selector):
                assert label_selector == "job-name=train"
                return SimpleNamespace(items=pods)

        resolver = KubernetesClusterResolver(
            {"worker": ["job-name=train"]}, override_client=Api(), environ={"POD_IP": "10.0.0.2"}
        )
        assert resolver.cluster_spec().job_tasks("worker") == ["10.0.0.1:8470", "10.0.0.2:8470"]
        assert resolver.membership().index == 1
        pods.append(pod("c", "10.0.0.3", "Pending"))
        with pytest.raises(ClusterError, match="c is Pending"):
            KubernetesClusterResolver({"worker": ["job-name=train"]}, override_client=Api())


class TestMpi:
    def test_openmpi_on_one_machine(self):
        found = {
            "OMPI_COMM_WORLD_RANK": "1",
            "OMPI_COMM_WORLD_SIZE": "2",
            "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
        }
        membership = MPIClusterResolver(environ=found).membership()
        assert (membership.index, membership.size) == (1, 2)
        assert membership.coordinator.startswith("127.0.0.1:")

    def test_pmi_on_several_machines_needs_an_address(self):
        found = {"PMI_RANK": "0", "PMI_SIZE": "4", "MPI_LOCALNRANKS": "2"}
        with pytest.raises(ClusterError, match="mpirun -x MANYHANDS_COORDINATOR"):
            MPIClusterResolver(environ=found)
        found["MANYHANDS_COORDINATOR"] = "node0:8888"
        assert MPIClusterResolver(environ=found).membership().coordinator == "node0:8888"


class TestAuto:
    def test_it_says_what_it_saw(self):
        assert auto(tf_config("worker", 0)).why == "TF_CONFIG"
        assert auto(SLURM).why == "Slurm's variables"
        assert auto({"PMI_RANK": "0", "PMI_SIZE": "2", "MPI_LOCALNRANKS": "2"}).why == (
            "PMI's variables"
        )
        assert "this process is alone" in auto({}).why
        assert auto({}).membership().size == 1
        assert auto({"MANYHANDS_NUM_PROCESSES": "1"}).membership().size == 1

    def test_slurm_with_one_task_is_a_single_process(self):
        assert auto({"SLURM_PROCID": "0", "SLURM_NTASKS": "1"}).membership().size == 1

    def test_a_group_without_a_place_in_it_is_not_nobody(self):
        with pytest.raises(ClusterError, match="MANYHANDS_PROCESS_INDEX"):
            auto({"MANYHANDS_NUM_PROCESSES": "2"})

    def test_our_launcher_comes_first(self):
        found = SLURM | {
            "MANYHANDS_COORDINATOR": "127.0.0.1:5",
            "MANYHANDS_NUM_PROCESSES": "2",
            "MANYHANDS_PROCESS_INDEX": "1",
        }
        assert auto(found).membership().me.name == "process 1"


def test_a_simple_resolver():
    resolver = SimpleClusterResolver(
        ClusterSpec({"worker": ["a:1", "b:1"]}),
        master="m:1",
        task_type="worker",
        task_id=1,
        num_accelerators={"GPU": 2},
        rpc_layer="grpc",
    )
    assert resolver.master() == "grpc://m:1"
    assert resolver.master("worker", 0) == "grpc://a:1"
    assert resolver.num_accelerators() == {"GPU": 2}
    assert resolver.membership().index == 1


def test_counting_gpus_leaves_jax_to_be_joined():
    source = """
    import manyhands as mh
    resolver = mh.cluster.SimpleClusterResolver({"worker": ["localhost:1"]})
    print(resolver.num_accelerators(), mh.config.has_started())
    """
    assert output_of(source, JAX_PLATFORMS="cpu").strip() == "{} False"
