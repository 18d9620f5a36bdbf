"""CheckpointManager: what is kept, what is removed and when, what is taken over."""

from __future__ import annotations

import os

import keras
import pytest

from manyhands.checkpoint import Checkpoint, CheckpointManager, latest_checkpoint, rotation


def make(directory, step=None, **options):
    step = step if step is not None else keras.Variable(0, dtype="int32")
    return CheckpointManager(Checkpoint(step=step), directory, **({"max_to_keep": 2} | options))


def kept(directory):
    return sorted(name for name in os.listdir(directory) if name != "checkpoint")


def test_the_oldest_go(tmp_path):
    manager = make(tmp_path / "new")
    paths = [manager.save() for _ in range(4)]
    assert manager.latest_checkpoint == paths[-1] == str(tmp_path / "new" / "ckpt-4")
    assert manager.checkpoints == paths[2:]
    assert kept(tmp_path / "new") == ["ckpt-3", "ckpt-4"]
    assert manager.directory == str(tmp_path / "new")


def test_none_keeps_all(tmp_path):
    manager = make(tmp_path, max_to_keep=None, checkpoint_name="model")
    for _ in range(3):
        manager.save()
    manager.sync()
    assert kept(tmp_path) == ["model-1", "model-2", "model-3"]


def test_old_ones_go_only_when_the_new_one_is_complete(tmp_path, monkeypatch):
    manager = make(tmp_path)
    for _ in range(2):
        manager.save()
    manager.sync()

    def fail(path, taken):
        raise OSError("disk full")

    monkeypatch.setattr(rotation.Checkpoint._write.__globals__["saving"], "write", fail)
    manager.save()
    with pytest.raises(OSError, match="disk full"):
        manager.sync()
    assert kept(tmp_path) == ["ckpt-1", "ckpt-2"]
    assert manager.latest_checkpoint == str(tmp_path / "ckpt-2")


def test_a_directory_is_taken_over(tmp_path):
    step = keras.Variable(0, dtype="int32")
    manager = make(tmp_path, step)
    for value in (1, 2, 3):
        step.assign(value)
        manager.save()
    manager.sync()
    again = make(tmp_path)
    assert [os.path.basename(path) for path in again.checkpoints] == ["ckpt-2", "ckpt-3"]
    assert again.restore_or_initialize() == str(tmp_path / "ckpt-3")
    assert int(again.checkpoint.step) == 3
    assert again.save() == str(tmp_path / "ckpt-4")
    again.sync()
    assert kept(tmp_path) == ["ckpt-3", "ckpt-4"]


def test_initialize_where_there_is_nothing(tmp_path):
    called = []
    assert make(tmp_path, init_fn=lambda: called.append(1)).restore_or_initialize() is None
    assert make(tmp_path).restore_or_initialize() is None
    assert called == [1]


def test_numbers_of_the_users_own(tmp_path):
    manager = make(tmp_path)
    names = [manager.save(checkpoint_number=number) for number in (10, keras.Variable(20), 10)]
    assert [os.path.basename(name) for name in names] == ["ckpt-10", "ckpt-20", "ckpt-10"]
    assert [os.path.basename(name) for name in manager.checkpoints] == ["ckpt-20", "ckpt-10"]
    assert kept(tmp_path) == ["ckpt-10", "ckpt-20"]


def test_an_interval_in_steps(tmp_path):
    step = keras.Variable(0, dtype="int32")
    manager = make(tmp_path, step, step_counter=step, checkpoint_interval=10)
    saved = []
    for value in (0, 5, 10, 15, 20):
        step.assign(value)
        saved.append(manager.save() is not None)
    assert saved == [True, False, True, False, True]
    assert manager.save(check_interval=False) is None, "this step is saved already"
    step.assign(21)
    assert manager.save(check_interval=False) is not None
    assert manager.checkpoint_interval == 10
    again = make(tmp_path, step, step_counter=step, checkpoint_interval=10)
    again.restore_or_initialize()
    step.assign(25)
    assert again.save() is None


def test_one_of_every_so_many_hours_stays(tmp_path, monkeypatch):
    now = [1_000_000.0]
    monkeypatch.setattr(rotation.time, "time", lambda: now[0])
    manager = make(tmp_path, max_to_keep=1, keep_checkpoint_every_n_hours=2)
    for _ in range(6):
        now[0] += 3600
        manager.save()
        manager.sync()
    assert kept(tmp_path) == ["ckpt-2", "ckpt-4", "ckpt-6"]
    assert [os.path.basename(path) for path in manager.checkpoints] == ["ckpt-6"]


def test_arguments_that_make_no_sense(tmp_path):
    with pytest.raises(ValueError, match=r"max_to_keep=0[\s\S]*fix: pass None to keep all"):
        make(tmp_path, max_to_keep=0)
    with pytest.raises(ValueError, match=r"step_counter=None[\s\S]*fix: pass step_counter="):
        make(tmp_path, checkpoint_interval=3)


@pytest.mark.parametrize("exchange", [True, False])
def test_a_path_can_be_written_again(tmp_path, monkeypatch, exchange):
    from manyhands.checkpoint import disk

    if not exchange:  # as on NFS
        monkeypatch.setattr(disk, "_exchange", lambda one, other: False)
    v = keras.Variable(0.0)
    checkpoint = Checkpoint(v=v)
    for value in (1.0, 2.0, 3.0):
        v.assign(value)
        path = checkpoint.write(tmp_path / "best")
    v.assign(0.0)
    checkpoint.read(path).assert_consumed()
    assert float(v.numpy()) == 3.0
    assert kept(tmp_path) == ["best"]


def test_addresses_are_refused(tmp_path):
    checkpoint = Checkpoint(v=keras.Variable(0.0))
    for call in (checkpoint.save, checkpoint.write, checkpoint.restore, latest_checkpoint, make):
        with pytest.raises(ValueError, match=r"got: gs://bucket/run[\s\S]*fix: give a directory"):
            call("gs://bucket/run")


def test_what_dead_processes_left_is_cleared(tmp_path):
    from manyhands.checkpoint import disk

    dead = tmp_path / f".ckpt-1.part-{disk._machine()}-999999999-abcd1234"
    dead.mkdir()
    (dead / "half").write_text("")
    foreign = tmp_path / ".ckpt-1.part-00000000-999999999-abcd1234"  # of another machine
    foreign.mkdir()
    manager = make(tmp_path)
    manager.save()
    manager.sync()
    assert kept(tmp_path) == [foreign.name, "ckpt-1"]
