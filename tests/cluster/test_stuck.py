"""What cannot work together is found before the first step, and said with the difference."""

from __future__ import annotations

import json
import textwrap

import pytest

from tests.cluster.groups import free_ports, launched, start, tf_configs

HEAD = """
import os, sys, json
import manyhands as mh
strategy = mh.MultiWorkerMirroredStrategy()
import keras, numpy as np
index = strategy.group.index if strategy.group else 0
x, y = np.ones((32, 4), "float32"), np.ones((32, 2), "float32")
def model(width=3):
    with strategy.scope():
        layers = [keras.Input((4,)), keras.layers.Dense(width), keras.layers.Dense(2)]
        made = keras.Sequential(layers)
        made.compile("sgd", "mse")
    return made
"""
DIFFERENT = {
    "models": ("model(3 + index).fit(x, y, verbose=0)", "differ in the variables", "[4, 3]"),
    "rows": (
        "model().fit(x[: 32 - 8 * index], y[: 32 - 8 * index], batch_size=8, verbose=0)",
        "differ in the rows",
        "rows 24",
    ),
    "batch sizes": ("model().fit(x, y, batch_size=8 + 8 * index, verbose=0)", "batch_size 16", ""),
    "shuffling": ("model().fit(x, y, shuffle=index == 0, verbose=0)", "shuffle False", ""),
    "batches": (
        "model().fit(((x[:8 - index], y[:8 - index]) for _ in range(4)), verbose=0, "
        "steps_per_epoch=4)",
        "differ in the next batch",
        "[7, 4]",
    ),
    "lengths": (
        "model().fit(((x[:8], y[:8]) for _ in range(4 - index)), verbose=0)",
        "differ in the next batch",
        "no more",
    ),
    "losses": (
        """
made = model()
made.compile("sgd", "mse" if index == 0 else "mae")
made.fit(x, y, verbose=0)
""",
        "differ in the compiled step",
        "operations",
    ),
    "calls": (
        "made = model(); made.fit(x, y, verbose=0) if index == 0 else made.predict(x, verbose=0)",
        "not doing the same",
        "",
    ),
}


@pytest.mark.parametrize("what", sorted(DIFFERENT))
def test_processes_that_differ_are_told_how(tmp_path, what):
    rest, message, detail = DIFFERENT[what]
    done = launched(tmp_path, HEAD + rest, "--no-shim", "--processes", "2", timeout_s=120)
    assert done.returncode not in (0, 124)
    assert message in done.stdout, done.stdout[-3000:]
    assert detail in done.stdout


def test_both_are_named_by_both(tmp_path):
    rest, _, _ = DIFFERENT["models"]
    done = launched(tmp_path, HEAD + rest, "--no-shim", "--processes", "2", timeout_s=120)
    for index in (0, 1):
        said = "".join(line for line in done.stdout.splitlines() if line.startswith(f"[{index}]"))
        assert "process 0: ['sequential/dense/kernel', [4, 3]" in said
        assert "process 1: ['sequential/dense/kernel', [4, 4]" in said


PARTED = {
    "one stops training": (
        """
class Stop(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        self.model.stop_training = index == 1 and batch == 2
model().fit(x, y, batch_size=4, epochs=50, verbose=0, callbacks=[Stop()])
""",
        "process 1 has ended its program",
    ),
    "one evaluates": (
        """
class Look(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if index and batch == 2:
            self.model.evaluate(x, y, verbose=0)
model().fit(x, y, batch_size=4, verbose=0, callbacks=[Look()])
""",
        "waited 6 s for",
    ),
    "another step that is known": (
        """
with strategy.scope():
    total = mh.tf.Variable(0.0)
def once(x): total.assign_add(x.sum()); return x.sum()
def twice(x): total.assign_add(2 * x.sum()); return x.sum()
rows = next(iter(strategy.experimental_distribute_dataset(
    mh.data.Dataset.from_tensor_slices(x).batch(8))))
strategy.run(once, args=(rows,)); strategy.run(twice, args=(rows,))
strategy.run(twice if index else once, args=(rows,))
""",
        "have not run the same steps",
    ),
}


@pytest.mark.parametrize("what", sorted(PARTED))
def test_processes_that_part_later_are_told_so(tmp_path, what):
    rest, message = PARTED[what]
    options = ("--no-shim", "--processes", "2", "--timeout", "6")
    done = launched(tmp_path, HEAD + rest, *options, timeout_s=120)
    assert done.returncode not in (0, 124)
    assert message in done.stdout, done.stdout[-3000:]


def test_a_task_that_never_arrives_is_named():
    config = tf_configs(2)[0]
    missing = json.loads(config)["cluster"]["worker"][1]
    alone = start(["-c", textwrap.dedent(HEAD)], TF_CONFIG=config, MANYHANDS_TIMEOUT="3")
    _, err = alone.communicate(timeout=60)
    assert alone.returncode == 1
    assert f"missing: worker 1 ({missing})" in err
    assert "MANYHANDS_TIMEOUT" in err


def test_a_chief_that_never_arrives_is_named():
    config = tf_configs(2)[1]
    first = json.loads(config)["cluster"]["worker"][0]
    alone = start(["-c", textwrap.dedent(HEAD)], TF_CONFIG=config, MANYHANDS_TIMEOUT="3")
    _, err = alone.communicate(timeout=60)
    assert alone.returncode == 1
    assert f"worker 0 ({first})" in err


def test_jax_that_has_started_too_early_is_explained():
    source = "import jax; jax.devices(); import manyhands as mh; mh.MultiWorkerMirroredStrategy()"
    alone = start(["-c", source], TF_CONFIG=tf_configs(2)[0])
    _, err = alone.communicate(timeout=60)
    assert alone.returncode == 1
    assert "make the MultiWorkerMirroredStrategy first thing in the program" in err


def test_an_evaluator_runs_beside():
    addresses = [f"127.0.0.1:{port}" for port in free_ports(2)]
    cluster = {"worker": addresses[:1], "evaluator": addresses[1:]}
    config = json.dumps({"cluster": cluster, "task": {"type": "evaluator", "index": 0}})
    source = HEAD + "print(strategy.cluster_resolver.task_type, model().evaluate(x, y, verbose=0))"
    beside = start(["-c", textwrap.dedent(source)], TF_CONFIG=config)
    out, err = beside.communicate(timeout=120)
    assert beside.returncode == 0, err[-2000:]
    assert out.startswith("evaluator ")


SLURM = {
    "SLURM_STEP_NUM_TASKS": "2",
    "SLURM_STEP_NODELIST": "localhost",
    "SLURM_STEP_TASKS_PER_NODE": "2",
}
PODS = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "MANYHANDS_NUM_PROCESSES": "2"}


@pytest.mark.parametrize("scheduler", ["slurm", "kubernetes", "openmpi"])
def test_schedulers_start_it_unchanged(scheduler):
    port = str(free_ports(1)[0])
    source = HEAD
    environments = []
    for index in range(2):
        if scheduler == "slurm":
            source = HEAD.replace(
                "MultiWorkerMirroredStrategy()",
                f"MultiWorkerMirroredStrategy(mh.cluster.SlurmClusterResolver(port_base={port}))",
            )
            environments.append(SLURM | {"SLURM_PROCID": str(index)})
        elif scheduler == "kubernetes":
            pod = {"JOB_COMPLETION_INDEX": str(index)}
            environments.append(PODS | pod | {"MANYHANDS_COORDINATOR": f"localhost:{port}"})
        else:
            environments.append(
                {
                    "OMPI_COMM_WORLD_RANK": str(index),
                    "OMPI_COMM_WORLD_SIZE": "2",
                    "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
                    "MANYHANDS_COORDINATOR": f"127.0.0.1:{port}",
                }
            )
    source += "print(strategy.num_replicas_in_sync, model().fit(x, y, verbose=0).history['loss'])"
    running = [start(["-c", textwrap.dedent(source)], **each) for each in environments]
    said = [one.communicate(timeout=120) for one in running]
    lines = [out.strip().splitlines()[-1] for out, _ in said if out.strip()]
    assert len(lines) == 2, said
    assert lines[0] == lines[1]
    assert lines[0].startswith("2 [")
