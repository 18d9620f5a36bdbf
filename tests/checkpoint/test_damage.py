"""A checkpoint that is not as it was written is named, and the one before is offered."""

from __future__ import annotations

import hashlib
import json
import random
import re
from pathlib import Path

import keras
import numpy as np
import pytest

from manyhands.checkpoint import (
    Checkpoint,
    CheckpointDamagedError,
    CheckpointError,
    CheckpointNotFoundError,
    checkpoint_exists,
    latest_checkpoint,
    list_variables,
    load_variable,
)
from manyhands.errors import ManyhandsWarning


@pytest.fixture
def three(tmp_path):
    """Save three checkpoints."""
    v = keras.Variable(np.zeros(1000, "f4"))
    checkpoint = Checkpoint(v=v)
    for value in (1, 2, 3):
        v.assign(np.full(1000, value))
        checkpoint.save(tmp_path / "ckpt")
    checkpoint.sync()
    return checkpoint, v, tmp_path


def files(directory):
    return sorted(path for path in Path(directory).rglob("*") if path.is_file())


def assert_named_and_offered(checkpoint, v, folder):
    offered = re.escape(f"restore('{folder / 'ckpt-2'}')")
    with pytest.raises(CheckpointDamagedError, match=rf"ckpt-3: [\s\S]*fix: [\s\S]*{offered}"):
        checkpoint.restore(folder / "ckpt-3")
    assert v.numpy()[0] == 3.0, "nothing was restored"
    checkpoint.restore(folder / "ckpt-2").assert_consumed()
    assert v.numpy()[0] == 2.0


def assert_passed_by(folder):
    with pytest.warns(ManyhandsWarning, match=r"ckpt-3 was passed by[\s\S]*Look at the disk"):
        assert latest_checkpoint(folder) == str(folder / "ckpt-2")


def test_any_changed_byte_is_found(three):
    checkpoint, _, folder = three
    chosen = random.Random(0)
    for path in files(folder / "ckpt-3"):
        content = path.read_bytes()
        if not content:
            continue
        at = chosen.randrange(len(content.rstrip(b"\n")))
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        with pytest.raises(CheckpointDamagedError, match=r"not as it was written[\s\S]*ckpt-2"):
            checkpoint.restore(folder / "ckpt-3")
        path.write_bytes(content)
    checkpoint.restore(folder / "ckpt-3").assert_consumed()


def test_a_truncated_file_is_found_and_passed_by(three):
    checkpoint, v, folder = three
    largest = max(files(folder / "ckpt-3"), key=lambda path: path.stat().st_size)
    largest.write_bytes(largest.read_bytes()[:-1])
    assert_passed_by(folder)
    assert not checkpoint_exists(folder / "ckpt-3")
    assert_named_and_offered(checkpoint, v, folder)


@pytest.mark.parametrize("name", ["manifest.json", "arrays/manifest.ocdbt"])
def test_a_missing_file_is_found_and_passed_by(three, name):
    checkpoint, v, folder = three
    (folder / "ckpt-3" / name).unlink()
    assert_passed_by(folder)
    assert_named_and_offered(checkpoint, v, folder)


def test_a_manifest_that_was_edited_is_found(three):
    checkpoint, v, folder = three
    manifest = folder / "ckpt-3" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"key": "v"', '"key": "w"'))
    assert_named_and_offered(checkpoint, v, folder)


def test_the_one_offered_is_itself_whole(three):
    checkpoint, _, folder = three
    for name in ("ckpt-2", "ckpt-3"):
        (folder / name / "manifest.json").write_text("")
    with pytest.raises(CheckpointDamagedError, match=r"restore\('[^']*ckpt-1'\)"):
        checkpoint.restore(folder / "ckpt-3")
    (folder / "ckpt-1" / "manifest.json").write_text("")
    with pytest.raises(
        CheckpointDamagedError, match="fix: there is no other checkpoint next to it"
    ):
        checkpoint.restore(folder / "ckpt-3")
    last = latest_checkpoint(folder)
    assert last == str(folder / "ckpt-3"), "so that restoring it says what is wrong"


def test_one_of_a_later_version_is_not_damaged(three):
    checkpoint, _, folder = three
    for name in ("ckpt-2", "ckpt-3"):
        rewrite_manifest(folder / name, lambda text: text.replace("checkpoint 2", "checkpoint 99"))
    assert latest_checkpoint(folder) == str(folder / "ckpt-3")
    with pytest.raises(CheckpointError, match=r"checkpoint 99'[\s\S]*fix: install the version"):
        checkpoint.restore(folder / "ckpt-3")


def test_the_first_version_is_read(three):
    checkpoint, v, folder = three
    rewrite_manifest(folder / "ckpt-2", lambda text: text.replace("checkpoint 2", "checkpoint 1"))
    checkpoint.restore(folder / "ckpt-2").assert_consumed()
    assert v.numpy()[0] == 2.0


def rewrite_manifest(checkpoint, change):
    path = checkpoint / "manifest.json"
    text = change(path.read_text().rstrip("\n").rpartition("\n")[0])
    seal = {"sha256 of the lines above": hashlib.sha256(text.encode()).hexdigest()}
    path.write_text(f"{text}\n{json.dumps(seal)}\n")


def test_nothing_is_a_pickle(three):
    _, _, folder = three
    for path in files(folder):
        assert not path.read_bytes().startswith(b"\x80"), path


def test_what_is_not_there(three):
    checkpoint, _, folder = three
    with pytest.raises(CheckpointNotFoundError, match=r"ckpt-9[\s\S]*fix: restore\('.*ckpt-3'\)"):
        checkpoint.restore(folder / "ckpt-9")
    with pytest.raises(FileNotFoundError, match=r"fix: save one first"):
        checkpoint.restore(folder / "nowhere" / "ckpt-9")
    with pytest.raises(FileNotFoundError, match=r"fix: restore\(latest_checkpoint\("):
        checkpoint.restore(folder)
    (folder / "old-7.index").write_text("")
    with pytest.raises(FileNotFoundError, match=r"TensorFlow wrote[\s\S]*fix: load it with"):
        checkpoint.restore(folder / "old-7")


def test_an_empty_directory_has_no_latest(tmp_path):
    assert latest_checkpoint(tmp_path) is None
    assert latest_checkpoint(tmp_path / "not there") is None


def test_looking_without_objects(three):
    _, _, folder = three
    assert list_variables(folder) == [("save_counter", []), ("v", [1000])]
    assert load_variable(folder / "ckpt-2", "v")[0] == 2
    assert load_variable(folder, "save_counter/.ATTRIBUTES/VARIABLE_VALUE") == 3
    with pytest.raises(
        CheckpointNotFoundError, match=r"'w' in[\s\S]*fix: choose from list_variables"
    ):
        load_variable(folder, "w")


def test_the_index_reads_as_tensorflow_writes_it(three):
    _, _, folder = three
    text = (folder / "checkpoint").read_text()
    assert 'model_checkpoint_path: "ckpt-3"\n' in text
    assert text.count("all_model_checkpoint_paths") == 3
    (folder / "checkpoint").write_text(
        f"model_checkpoint_path: {json.dumps(str(folder / 'ckpt-1'))}\n"  # an absolute path
    )
    assert latest_checkpoint(folder) == str(folder / "ckpt-1")


@pytest.mark.parametrize("text", ["", "garbage", 'model_checkpoint_path: "\\q"\n', "\x00" * 40])
def test_an_index_that_cannot_be_read(three, text):
    _, _, folder = three
    (folder / "checkpoint").write_text(text)
    with pytest.warns(ManyhandsWarning, match="checkpoint cannot be read; .* taken by their age"):
        assert latest_checkpoint(folder) == str(folder / "ckpt-3")


def test_paths_relative_to_where_the_program_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    checkpoint = Checkpoint(v=keras.Variable(1.0))
    assert checkpoint.save("ckpt") == "ckpt-1"
    assert checkpoint.save("./runs/näme ckpt") == "./runs/näme ckpt-2"
    assert latest_checkpoint("runs") == "runs/näme ckpt-2"
    assert latest_checkpoint(".") == "./ckpt-1"
    checkpoint.restore(latest_checkpoint("runs")).assert_consumed()
