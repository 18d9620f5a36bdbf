"""A damaged checkpoint is passed by for the one before; where all are damaged, that is an error."""

from __future__ import annotations

import random
import shutil
import subprocess
import warnings

import keras
import numpy as np
import pytest

import manyhands as mh
from manyhands.checkpoint import (
    Checkpoint,
    CheckpointDamagedError,
    CheckpointManager,
    CheckpointMismatchError,
    latest_checkpoint,
    load_variable,
    proof,
)
from manyhands.errors import ManyhandsWarning
from tests.checkpoint.damages import DAMAGES, files
from tests.checkpoint.test_resume import DATA, CrashAfter, CrashError, fit, same
from tests.disks import mounted


class Counting:
    """A state of two parts, one of them large."""

    def __init__(self):
        self.held = {"count": 0, "values": np.zeros(1)}

    def get_state(self):
        return self.held

    def set_state(self, state):
        self.held = state


def manager_of(directory, size=40, **options):
    v = keras.Variable(np.zeros((size, 50), "f4"))
    kept = Checkpoint(v=v, empty=keras.Variable(np.zeros((0, 2))), counting=Counting())
    return CheckpointManager(kept, directory, **{"max_to_keep": 3, **options})


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    """Save three checkpoints, and give the directory."""
    folder = tmp_path_factory.mktemp("pristine")
    manager = manager_of(folder)
    for value in (1, 2, 3):
        manager.checkpoint.v.assign(np.full((40, 50), value, "f4"))
        manager.checkpoint.counting.held = {"count": value, "values": np.full(3000, value)}
        manager.save()
    manager.sync()
    return folder


@pytest.fixture
def three(pristine, tmp_path):
    return shutil.copytree(pristine, tmp_path / "three")


def content_of(directory):
    return {path: path.read_bytes() for path in files(directory)}


def assert_restored(manager, value):
    np.testing.assert_array_equal(manager.checkpoint.v.numpy(), np.full((40, 50), value, "f4"))
    assert manager.checkpoint.counting.held["count"] == value
    np.testing.assert_array_equal(manager.checkpoint.counting.held["values"], np.full(3000, value))


@pytest.mark.parametrize("kind", sorted(DAMAGES))
def test_every_damage_to_every_file(pristine, tmp_path, kind):
    chosen = random.Random(kind)
    names = [path.relative_to(pristine) for path in files(pristine / "ckpt-3")]
    for number, name in enumerate(names * (6 if kind == "flip_bit" else 1)):
        folder = shutil.copytree(pristine, tmp_path / str(number))
        DAMAGES[kind](folder / name, chosen)
        before, manager = content_of(folder), manager_of(folder)
        passed_by = rf"{number}/ckpt-3 was passed by, .*damaged: .*ckpt-2, which is older"
        with pytest.warns(ManyhandsWarning, match=passed_by):
            assert manager.restore_or_initialize() == str(folder / "ckpt-2")
        assert_restored(manager, 2)
        for latest in (
            lambda at=folder: latest_checkpoint(at),
            lambda it=manager: it.latest_checkpoint,
        ):
            with pytest.warns(ManyhandsWarning, match=passed_by):
                assert latest() == str(folder / "ckpt-2")
        with pytest.warns(ManyhandsWarning, match=passed_by):
            assert load_variable(folder, "v")[0, 0] == 2
        assert content_of(folder) == before, "nothing is changed"


@pytest.mark.parametrize("kind", sorted({*DAMAGES} - {"swap"}))
def test_every_damage_to_the_index(pristine, tmp_path, kind):
    """A name in it may turn into that of another checkpoint: then that one, whole, is taken."""
    chosen = random.Random(kind)
    for number in range(40 if kind == "flip_bit" else 3):
        folder = shutil.copytree(pristine, tmp_path / str(number))
        DAMAGES[kind](folder / "checkpoint", chosen)
        manager = manager_of(folder)
        with warnings.catch_warnings(action="ignore"):
            restored = manager.restore_or_initialize()
        assert restored in {str(folder / f"ckpt-{n}") for n in (1, 2, 3)}
        assert_restored(manager, int(restored[-1]))
        if kind != "flip_bit":
            assert restored.endswith("ckpt-3")


def test_all_damaged_is_an_error_and_nothing_is_removed(three):
    for number, name in enumerate(("ckpt-1", "ckpt-2", "ckpt-3")):
        largest = max(files(three / name), key=lambda path: path.stat().st_size)
        DAMAGES["flip_bit"](largest, random.Random(number))
    before, called = content_of(three), []
    manager = manager_of(three, init_fn=lambda: called.append(1))
    with pytest.raises(
        CheckpointDamagedError,
        match=r"ckpt-3: [\s\S]*ckpt-2: [\s\S]*ckpt-1: [\s\S]*fix: bring one back from a copy",
    ):
        manager.restore_or_initialize()
    assert not called
    with pytest.raises(CheckpointDamagedError, match=r"fix: there is no other .* another dir"):
        manager.checkpoint.restore(latest_checkpoint(three))
    with pytest.raises(CheckpointDamagedError, match="Every checkpoint here is damaged"):
        fit(DATA["shuffled"](), mh.callbacks.Resume(three, every_steps=1))
    assert content_of(three) == before


def test_damaged_ones_are_the_first_to_go(three):
    DAMAGES["zero"](three / "ckpt-3" / "manifest.json", random.Random(0))
    manager = manager_of(three, max_to_keep=2)
    with pytest.warns(ManyhandsWarning, match="ckpt-3 was passed by"):
        manager.restore_or_initialize()
    manager.save(checkpoint_number=50)
    manager.sync()
    assert sorted(path.name for path in three.glob("ckpt-*")) == ["ckpt-2", "ckpt-50"]


def test_values_that_do_not_fit_are_no_damage(three):
    manager = manager_of(three, size=41)
    with pytest.raises(CheckpointMismatchError, match=r"ckpt-3 do not fit[\s\S]*fix: make the mod"):
        manager.restore_or_initialize()


def test_a_checkpoint_that_somebody_removed_is_passed_by(three):
    shutil.rmtree(three / "ckpt-3")
    manager = manager_of(three)
    assert manager.latest_checkpoint == manager.restore_or_initialize() == str(three / "ckpt-2")
    for name in ("ckpt-1", "ckpt-2"):
        shutil.rmtree(three / name)
    assert manager_of(three).restore_or_initialize() is None


def test_a_disk_that_cannot_be_written_is_read(pristine, tmp_path):
    with mounted(tmp_path / "disk", "size=8m") as disk:
        folder = shutil.copytree(pristine, disk / "three")
        DAMAGES["flip_bit"](max(files(folder / "ckpt-3"), key=len_of), random.Random(0))
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        manager = manager_of(folder)
        with pytest.warns(ManyhandsWarning, match="ckpt-3 was passed by"):
            assert manager.restore_or_initialize() == str(folder / "ckpt-2")
        assert_restored(manager, 2)


def len_of(path):
    return path.stat().st_size


def test_what_was_proved_is_not_read_again_until_it_is_touched(three, monkeypatch):
    assert latest_checkpoint(three) == str(three / "ckpt-3")
    with monkeypatch.context() as patched:
        patched.setattr(proof, "verify", None)
        assert latest_checkpoint(three) == str(three / "ckpt-3")
        manager = manager_of(three)
        manager.save(checkpoint_number=7)
        assert manager.latest_checkpoint == str(three / "ckpt-7"), "written here, so it is known"
    DAMAGES["flip_bit"](three / "ckpt-7" / "manifest.json", random.Random(0))
    with pytest.warns(ManyhandsWarning, match="ckpt-7 was passed by"):
        assert latest_checkpoint(three) == str(three / "ckpt-3")


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """Give the directory of a `fit` that was stopped, and what one that was not gives."""
    folder = tmp_path_factory.mktemp("stopped")
    resume = mh.callbacks.Resume(folder / "cut", every_steps=1)
    with pytest.raises(CrashError):
        fit(DATA["shuffled"](), resume, CrashAfter(step=13))
    mh.checkpoint.Checkpoint().sync()
    return folder / "cut", fit(DATA["shuffled"]())


@pytest.mark.parametrize("kind", sorted(DAMAGES))
def test_fit_goes_on_from_the_one_before(stopped, tmp_path, kind):
    cut, whole = stopped
    folder, chosen = shutil.copytree(cut, tmp_path / "cut"), random.Random(kind)
    newest = latest_checkpoint(folder)
    assert newest is not None
    DAMAGES[kind](chosen.choice(files(folder / newest)), chosen)
    with pytest.warns(ManyhandsWarning, match=f"{newest} was passed by"):
        again = fit(DATA["shuffled"](), mh.callbacks.Resume(folder, every_steps=3))
    same(again, whole)
