"""Event files: what TensorBoard would read back."""

from __future__ import annotations

import glob

import numpy as np
import pytest

import manyhands.tf as tf
from manyhands.data.dataset.records import RecordReader
from manyhands.telemetry.events import EventWriter, histogram_of, png


def records(folder):
    [path] = glob.glob(f"{folder}/events.out.tfevents.*")
    reader, found = RecordReader(path), []
    while (record := reader.read()) is not None:
        found.append(record)
    reader.close()
    return found


def test_scalars_are_written_as_they_come(tmp_path):
    writer = tf.summary.create_file_writer(str(tmp_path))
    with writer.as_default():
        for step in range(3):
            assert tf.summary.scalar("loss", 0.5 * step, step=step)
    first, *rest = records(tmp_path)
    assert b"brain.Event:2" in first
    assert len(rest) == 3
    assert all(b"loss" in record and b"scalars" in record for record in rest)
    assert np.float32(1.0).tobytes() in rest[2]


def test_from_inside_a_compiled_step(tmp_path):
    writer = tf.summary.create_file_writer(str(tmp_path))

    @tf.function
    def step(x, number):
        tf.summary.scalar("inside", x, step=number)
        return x * 2

    with writer.as_default():
        for number in range(4):
            step(tf.constant(float(number)), tf.constant(number))
    assert len(records(tmp_path)) == 5


def test_nothing_is_written_without_a_writer_or_a_step(tmp_path):
    assert not tf.summary.scalar("loss", 1.0, step=0)
    writer = tf.summary.create_file_writer(str(tmp_path))
    with writer.as_default(), pytest.raises(ValueError, match="No step set"):
        tf.summary.scalar("loss", 1.0)
    with writer.as_default(step=1), tf.summary.record_if(False):
        assert not tf.summary.scalar("loss", 1.0)
    writer.close()
    with pytest.raises(ValueError, match="is closed"):
        writer.events.scalar("loss", 1.0, 0)


def test_histograms_and_pictures():
    table = histogram_of(np.arange(100.0), 10)
    assert table.shape == (10, 3)
    assert table[:, 2].sum() == 100
    assert histogram_of(np.ones(5), 10).tolist() == [[0.5, 1.5, 5.0]]
    assert histogram_of(np.zeros(0), 10).shape == (0, 3)
    assert png(np.zeros((2, 3, 3), np.uint8)).startswith(b"\x89PNG")


def test_tensorboard_reads_it(tmp_path):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    writer = EventWriter(tmp_path)
    writer.scalar("loss", 0.25, 7)
    writer.histogram("weights", np.arange(10.0), 7)
    writer.pictures("pictures", np.ones((1, 4, 5, 3), "float32"), 7)
    writer.text("words", "hello", 7)
    writer.close()
    seen = accumulator.EventAccumulator(str(tmp_path))
    seen.Reload()
    assert set(seen.Tags()["tensors"]) == {"loss", "weights", "pictures", "words"}
    [event] = seen.Tensors("loss")
    assert (event.step, event.tensor_proto.tensor_content) == (7, np.float32(0.25).tobytes())
