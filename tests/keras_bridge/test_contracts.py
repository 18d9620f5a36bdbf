"""The contract with Keras' private names: this fails loudly when a new Keras changes them."""

from __future__ import annotations

import inspect

import keras
import numpy as np
import pytest
from keras.src.backend.jax import trainer as jax_trainer
from keras.src.trainers.data_adapters import array_slicing
from keras.src.trainers.data_adapters.array_data_adapter import ArrayDataAdapter
from keras.src.trainers.epoch_iterator import EpochIterator

from manyhands import keras_bridge

TRAINER = jax_trainer.JAXTrainer


def source(function):
    return inspect.getsource(inspect.unwrap(function))


@pytest.mark.parametrize("name", ["fit", "evaluate", "predict"])
def test_keras_loops_run_a_function_over_an_epoch_iterator(name):
    text = source(getattr(TRAINER, name))
    function = {"fit": "train", "evaluate": "test", "predict": "predict"}[name]
    assert "JAXEpochIterator(" in text
    assert f"self.make_{function}_function()" in text
    assert f"self.{function}_function(state, iterator)" in text
    assert "self._get_jax_state(" in text
    assert "self.jax_state_sync()" in text
    assert "for begin_step, end_step, iterator in epoch_iterator" in text


def test_the_state_has_the_parts_that_a_step_takes():
    text = source(TRAINER.jax_state_sync)
    for part in keras_bridge.STATE_PARTS["train"]:
        assert f'"{part}"' in text
    parameters = inspect.signature(inspect.unwrap(TRAINER._get_jax_state)).parameters
    assert list(parameters)[1:] == [*keras_bridge.STATE_PARTS["train"], "purge_model_variables"]


def test_keras_builds_a_model_in_one_place():
    parameters = inspect.signature(inspect.unwrap(TRAINER._symbolic_build)).parameters
    assert list(parameters) == ["self", "iterator", "data_batch"]
    for name in ("fit", "evaluate"):
        assert "self._symbolic_build(iterator=epoch_iterator)" in source(getattr(TRAINER, name))
    for name in ("train_on_batch", "test_on_batch"):
        assert "self._symbolic_build(data_batch=next(data()))" in source(getattr(TRAINER, name))


def test_the_epoch_iterator_has_the_names_we_set():
    iterator = EpochIterator(np.ones((7, 1)), batch_size=2)
    for name in ("_current_iterator", "_steps_seen", "_num_batches", "data_adapter"):
        assert hasattr(iterator, name)
    text = source(EpochIterator._enumerate_iterator)
    assert "self._current_iterator is None or self.steps_per_epoch is None" in text


def test_the_array_adapter_has_the_names_we_read():
    adapter = ArrayDataAdapter(np.ones((7, 1)), np.ones(7), batch_size=2, shuffle=True)
    rows = keras_bridge.array_rows(adapter)
    assert (rows.num_rows, rows.batch_size, rows.shuffle) == (7, 2, True)
    x, y = rows.pick(slice(1, 3))
    assert x.shape == (2, 1)
    assert y.shape == (2,)
    assert hasattr(array_slicing, "PandasSliceable")


def test_variables_keep_their_array_in_one_place():
    variable = keras.Variable(np.ones(3, "float32"))
    variable._value = variable.value * 2
    np.testing.assert_array_equal(variable.numpy(), [2, 2, 2])


def test_a_step_returns_what_the_metrics_give():
    """So that its logs can stand for them at an epoch's end."""
    for step in (TRAINER.train_step, TRAINER.test_step):
        assert "logs, metrics_variables = self._update_metrics_variables(" in source(step)
    assert "logs = self.compute_metrics(" in source(TRAINER._update_metrics_variables)
    assert "return self.get_metrics_result()" in source(TRAINER.compute_metrics)
    text = source(TRAINER._get_metrics_result_or_logs)
    assert "metric_logs = self.get_metrics_result()" in text
    assert "m.reset_state()" in source(TRAINER.reset_metrics)


def test_models_start_at_the_trainers_init():
    assert "Trainer.__init__(self)" in inspect.getsource(keras.Model.__init__)
    assert "compile" not in vars(TRAINER), "compile is wrapped on the class that defines it"


def test_compile_forgets_the_functions():
    text = source(TRAINER.compile)
    for name in ("train_function", "test_function", "predict_function"):
        assert f"self.{name} = None" in text


def test_resuming_finds_what_it_sets():
    assert "self._initial_epoch or initial_epoch" in source(TRAINER.fit)
    assert isinstance(keras.optimizers.SGD()._learning_rate, keras.Variable)
    stopping = keras.callbacks.EarlyStopping(min_delta=1.0)
    assert {"monitor_op", "min_delta"} <= vars(stopping).keys()
    assert "self.min_delta *= -1" in source(type(stopping)._set_monitor_op)
    assert "except StopIteration" in source(EpochIterator.catch_stop_iteration)


def test_saving_has_the_names_we_wrap():
    backup = keras.callbacks.BackupAndRestore
    assert "self.backup_dir" in source(backup._save_model)
    assert "self.backup_dir" in source(backup.on_train_end)
    for name in ("save", "save_weights"):
        parameters = inspect.signature(inspect.unwrap(getattr(keras.Model, name))).parameters
        assert list(parameters)[:3] == ["self", "filepath", "overwrite"]
