from __future__ import annotations

import io
import re

import keras
import numpy as np
import pytest
from keras import ops
from rich.console import Console

import manyhands as mh
from tests.equality.cases import _classes, mlp


def fitted(num_devices, rows, **more):
    with mh.MirroredStrategy([f"cpu:{i}" for i in range(num_devices)]).scope():
        model = mlp()
    model.fit(**_classes(rows=rows), batch_size=10, epochs=3, verbose=0, **more)
    return model


def test_padding_is_counted():
    report = mh.telemetry.report(fitted(4, rows=25))
    assert (report.num_steps, report.num_rows) == (9, 75)
    assert report.num_padded_rows == 3 * (2 + 2 + 3)
    assert "rows of padding" in str(report)
    assert report.memory.peak_bytes > 0
    assert mh.telemetry.report(fitted(5, rows=20)).num_padded_rows == 0


class Sorted(keras.layers.Layer):
    def call(self, x):
        return ops.sort(x, axis=-1)


def test_indices_that_xla_cannot_split_are_named():
    with mh.MirroredStrategy([f"cpu:{i}" for i in range(4)]).scope():
        model = keras.Sequential([keras.layers.Dense(4), Sorted(), keras.layers.Dense(2)])
        model.compile("sgd", "mse")
    model.fit(np.ones((7, 3)), np.ones((7, 2)), batch_size=7, verbose=0)
    report = mh.telemetry.report(model)
    assert len(report.narrowed) == 1
    found = re.fullmatch(
        r"scatter-add with uint\d+ indices, test_telemetry.py:\d+ \(Sorted.call\)",
        report.narrowed[0],
    )
    assert found
    assert found[0] in str(report)
    assert not mh.telemetry.report(fitted(4, rows=25)).narrowed


def test_a_model_without_a_past_has_no_report():
    with pytest.raises(mh.errors.ScopeError, match="fix: fit it under a strategy first"):
        mh.telemetry.report(mlp())


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_shows_rows_per_second_and_keeps_many_steps_a_launch(terminal):
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=120)
    model = fitted(2, rows=60, callbacks=[mh.telemetry.Progress(console)])
    assert "epoch 3/3" in out.getvalue()
    assert "rows/s" in out.getvalue()
    assert max(model.train_function.steps_per_launch.values()) == 6
