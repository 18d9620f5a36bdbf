"""Keep Keras from taking `manyhands.tf`, imported as `tensorflow`, for TensorFlow."""

from __future__ import annotations

from keras.src.utils import module_utils


def keras_has_no_tensorflow() -> None:
    """Tell Keras that TensorFlow is not installed."""
    for name in ("tensorflow", "tensorflow_io", "tf2onnx", "gfile"):
        module = getattr(module_utils, name, None)
        if module is not None and getattr(module, "_available", None) is None:
            module._available = False
