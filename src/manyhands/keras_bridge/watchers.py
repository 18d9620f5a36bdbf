"""Who looks on while a model trains, and how closely.

In: callbacks and a model.  Out: whether anybody sees single batches, or what is between two epochs.
"""

from __future__ import annotations

from typing import Any

import keras
from keras.src.backend.jax.trainer import JAXTrainer
from keras.src.callbacks.callback_list import CallbackList
from keras.src.callbacks.monitor_callback import MonitorCallback
from keras.src.trainers.trainer import Trainer
from keras.src.utils import is_default

from manyhands.keras_bridge.arrays import rows_given
from manyhands.keras_bridge.roles import Role

_BATCH_HOOKS: dict[Role, tuple[str, ...]] = {
    "train": ("on_batch_begin", "on_batch_end", "on_train_batch_begin", "on_train_batch_end"),
    "test": ("on_test_batch_begin", "on_test_batch_end"),
    "predict": ("on_predict_batch_begin", "on_predict_batch_end"),
}


def watches_batches(callbacks: Any, role: Role) -> bool:
    """Whether any callback looks at single batches of this role."""
    return any(
        not is_default(getattr(callback, hook))
        for callback in user_callbacks(callbacks)
        if not _sleeps_between_epochs(callback)
        for hook in _BATCH_HOOKS[role]
        if hasattr(callback, hook)
    )


def user_callbacks(callbacks: Any) -> list[Any]:
    """List the callbacks that somebody passed: not Keras' progress bar and history."""
    listed = callbacks.callbacks if isinstance(callbacks, CallbackList) else callbacks
    ours = (keras.callbacks.ProgbarLogger, keras.callbacks.History)
    return [
        callback
        for callback in keras.tree.flatten(listed)
        if callback is not None and type(callback) not in ours
    ]


def _sleeps_between_epochs(callback: Any) -> bool:
    """Whether a callback's batch hooks are content with a call a launch, or do nothing at all."""
    if getattr(callback, "counts_launches", False):
        return True
    saves = (keras.callbacks.ModelCheckpoint, keras.callbacks.BackupAndRestore)
    return type(callback) in saves and getattr(callback, "save_freq", None) == "epoch"


_QUIET_CALLBACKS = (
    keras.callbacks.BackupAndRestore,
    keras.callbacks.CSVLogger,
    keras.callbacks.EarlyStopping,
    keras.callbacks.ModelCheckpoint,
    keras.callbacks.ReduceLROnPlateau,
    keras.callbacks.SwapEMAWeights,
    keras.callbacks.TensorBoard,
    keras.callbacks.TerminateOnNaN,
)
_QUIET_METHODS = ("evaluate", "reset_metrics", "compute_metrics", "get_metrics_result")


def _are_arrays(validation: Any) -> bool:
    """Whether validation data is arrays; nothing else may be looked into without using it up."""
    if not isinstance(validation, tuple | list) or len(validation) > 3:
        return False
    return bool(rows_given(*[*validation, None, None][:3]))


def runs_only_known_code(model: Any, callbacks: Any, validation: Any) -> bool:
    """Whether nobody else's code runs between two epochs.

    Then nobody can change the data or draw random numbers there.
    """
    return (
        all(
            type(callback) in _QUIET_CALLBACKS or getattr(callback, "counts_launches", False)
            for callback in user_callbacks(callbacks)
        )
        and all(
            getattr(type(model), m) is getattr(Trainer, m, None)
            or getattr(type(model), m) is getattr(JAXTrainer, m)
            for m in _QUIET_METHODS
        )
        and (validation is None or _are_arrays(validation))
    )


def derived_attributes(callback: Any) -> set[str]:
    """Name the attributes of a callback or data set that belong to this `fit` alone."""
    monitors = {"monitor_op", "min_delta"} if isinstance(callback, MonitorCallback) else set()
    workers = {"_workers", "_use_multiprocessing", "_max_queue_size"}  # of a PyDataset
    return {"params", "_model"} | monitors | workers


def resumers_last(callbacks: Any) -> list[Any] | None:
    """Order callbacks so that those come last which keep what the others do; None: they do."""
    if callbacks is None or isinstance(callbacks, CallbackList):
        return None
    listed = keras.tree.flatten(callbacks)
    ordered = sorted(listed, key=lambda callback: getattr(callback, "keeps_place", False))
    as_it_is = isinstance(callbacks, list | tuple) and ordered == list(callbacks)
    return None if as_it_is else ordered  # Keras runs one that is not in a list on a thread


def is_asked_early(data: Any) -> bool:
    """Whether Keras asks this data for its first rows before the first epoch begins."""
    return isinstance(data, keras.utils.PyDataset) or hasattr(data, "__next__")


def changing_datasets(arguments: dict[str, Any]) -> list[Any]:
    """List the data sets of a `fit` that may change themselves between epochs."""
    given = (arguments.get("x"), arguments.get("validation_data"))
    return [data for data in given if isinstance(data, keras.utils.PyDataset)]
