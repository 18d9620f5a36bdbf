"""tf.profiler: a profile that TensorBoard can show."""

from __future__ import annotations

import pytest

import manyhands.tf as tf

profiler = tf.profiler.experimental


def profiles(folder):
    return list(folder.glob("plugins/profile/*/*.xplane.pb"))


def test_a_profile_with_named_steps(tmp_path):
    with profiler.Profile(str(tmp_path), profiler.ProfilerOptions(host_tracer_level=1)):
        for step in range(2):
            with profiler.Trace("train", step_num=step, _r=1):
                tf.ones([3]).numpy()
    assert profiles(tmp_path)


def test_a_profile_is_started_and_stopped_once(tmp_path):
    with pytest.raises(tf.errors.UnavailableError, match="No profiler is running"):
        profiler.stop()
    profiler.start(tmp_path)
    try:
        with pytest.raises(tf.errors.AlreadyExistsError, match="Another profiler is running"):
            profiler.start(tmp_path)
    finally:
        profiler.stop()
    assert profiles(tmp_path)
