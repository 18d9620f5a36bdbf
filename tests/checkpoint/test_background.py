"""Saving goes on in the background: bounded, waited for where it matters, and never silent."""

from __future__ import annotations

import resource
import shutil
import threading
from contextlib import contextmanager

import keras
import numpy as np
import pytest

from manyhands.checkpoint import (
    Checkpoint,
    CheckpointManager,
    CheckpointOptions,
    CheckpointWriteError,
    checkpoint_exists,
    latest_checkpoint,
    list_variables,
    saving,
)
from manyhands.checkpoint.background import background
from tests.programs import output_of


@pytest.fixture(autouse=True)
def quiet_end():
    yield
    background.wait()
    background._failure = None


@contextmanager
def no_room():
    """Let no file grow: what a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def gate(monkeypatch):
    """Hold back every write until the gate is opened."""
    opened, original = threading.Event(), saving.write

    def write(path, taken):
        assert opened.wait(30)
        original(path, taken)

    monkeypatch.setattr(saving, "write", write)
    yield opened
    opened.set()
    background.wait()


def variable(value=0.0):
    return keras.Variable(np.full(3, value, "f4"))


def test_save_returns_before_the_files_are_there(tmp_path, gate):
    v = variable(1.0)
    checkpoint = Checkpoint(v=v)
    path = checkpoint.save(tmp_path / "ckpt")
    assert not (tmp_path / "ckpt-1").exists()
    v.assign([9, 9, 9])
    gate.set()
    checkpoint.sync()
    assert (tmp_path / "ckpt-1").is_dir()
    checkpoint.restore(path)
    np.testing.assert_array_equal(v.numpy(), [1, 1, 1])


def test_the_next_save_waits_for_the_one_before(tmp_path, gate):
    checkpoint = Checkpoint(v=variable())
    checkpoint.save(tmp_path / "ckpt")
    threading.Timer(0.2, gate.set).start()
    checkpoint.save(tmp_path / "ckpt")
    assert (tmp_path / "ckpt-1").is_dir()


@pytest.mark.parametrize("look", ["latest", "restore", "exists", "list", "manager"])
def test_whoever_looks_waits(tmp_path, gate, look):
    v = variable(2.0)
    checkpoint = Checkpoint(v=v)
    manager = CheckpointManager(checkpoint, tmp_path, max_to_keep=2)
    path = manager.save()
    threading.Timer(0.2, gate.set).start()
    if look == "latest":
        assert latest_checkpoint(tmp_path) == path
    elif look == "restore":
        checkpoint.restore(path).assert_consumed()
    elif look == "exists":
        assert checkpoint_exists(path)
    elif look == "list":
        assert list_variables(path) == [("save_counter", []), ("v", [3])]
    else:
        assert manager.latest_checkpoint == path
        assert manager.checkpoints == [path]


@pytest.mark.parametrize(
    "options", [{"enable_async": False}, {"experimental_enable_async_checkpoint": False}]
)
def test_without_the_background(tmp_path, options):
    done = []
    options = CheckpointOptions(
        **options, experimental_write_callbacks=[done.append, lambda: done.append("no argument")]
    )
    path = Checkpoint(v=variable()).save(tmp_path / "ckpt", options)
    assert (tmp_path / "ckpt-1").is_dir()
    assert done == [path, "no argument"]


@pytest.mark.parametrize("again", ["save", "write", "sync"])
def test_a_failure_is_raised_at_the_next_occasion_with_the_path(tmp_path, again):
    checkpoint = Checkpoint(v=variable())
    with no_room():
        checkpoint.save(tmp_path / "full" / "ckpt")
        background.wait()
    arguments = [] if again == "sync" else [tmp_path / "ckpt"]
    with pytest.raises(CheckpointWriteError, match=r"full/ckpt-1[\s\S]*fix: free space"):
        getattr(checkpoint, again)(*arguments)
    checkpoint.save(tmp_path / "ckpt")  # said once
    checkpoint.sync()


def test_a_failure_in_the_foreground_is_raised_at_once(tmp_path):
    with no_room(), pytest.raises(OSError, match=r"fix: free space"):
        Checkpoint(v=variable()).write(tmp_path / "x", CheckpointOptions(enable_async=False))


def test_a_directory_that_cannot_be_made_is_named_at_once(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CheckpointWriteError, match=r"file[\s\S]*fix: give a directory"):
        Checkpoint(v=variable()).save(tmp_path / "file" / "ckpt")


def test_what_the_program_removes_while_it_is_written_is_not_missed(tmp_path):
    checkpoint = Checkpoint(v=keras.Variable(np.ones(3_000_000, "f4")))
    for _ in range(3):
        checkpoint.save(tmp_path / "aside" / "ckpt")
        shutil.rmtree(tmp_path / "aside", ignore_errors=True)
        checkpoint.sync()


def test_files_that_vanish_while_they_are_written_are_not_missed(tmp_path, caplog):
    """The directory itself may stay: whoever empties it is outrun by the next file written."""
    checkpoint = Checkpoint(v=keras.Variable(np.ones(3_000_000, "f4")))
    checkpoint.save(tmp_path / "ckpt")
    while background.is_busy:
        for part in tmp_path.glob(".ckpt-*"):
            shutil.rmtree(part, ignore_errors=True)
    checkpoint.sync()
    assert "it was removed while it was written" in caplog.text


def test_a_callback_that_misses_a_file_is_heard(tmp_path):
    def careless():
        (tmp_path.parent / "no such file").read_text()

    options = CheckpointOptions(experimental_write_callbacks=[careless])
    checkpoint = Checkpoint(v=variable())
    checkpoint.save(tmp_path / "ckpt", options)
    with pytest.raises(CheckpointWriteError, match="no such file"):
        checkpoint.sync()


def test_a_program_that_ends_finishes_its_save(tmp_path):
    source = f"""
        import manyhands as mh, keras, numpy as np
        from manyhands.checkpoint import Checkpoint
        Checkpoint(v=keras.Variable(np.ones(2_000_000, "f4"))).save({str(tmp_path / "ckpt")!r})
        print("end of the program")
    """
    assert output_of(source, fresh=True) == "end of the program\n"
    v = keras.Variable(np.zeros(2_000_000, "f4"))
    Checkpoint(v=v).restore(latest_checkpoint(tmp_path)).assert_consumed()
    assert v.numpy().sum() == 2_000_000


def test_a_failure_at_the_end_of_a_program_is_logged(tmp_path):
    from tests.programs import run

    source = f"""
        import resource
        import manyhands as mh, keras
        from manyhands.checkpoint import Checkpoint
        kept = Checkpoint(v=keras.Variable(1.0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
        kept.save({str(tmp_path / "ckpt")!r})
    """
    assert "A checkpoint could not be written" in run(source).stderr
