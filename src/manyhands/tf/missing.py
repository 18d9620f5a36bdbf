"""What to use in place of TensorFlow's names that are not here."""

from __future__ import annotations

_INSTEAD = {
    "disable_v2_behavior": "nothing: there are no graphs and sessions here, only eager programs",
    "disable_eager_execution": "nothing: there are no graphs and sessions here",
    "reset_memory_stats": "the difference of two get_memory_info: JAX cannot reset its peak",
    "Session": "TensorFlow 1 programs: run the function directly; everything is eager",
    "placeholder": "TensorFlow 1 programs: give the function an argument",
    "global_variables_initializer": "nothing: variables have their value when they are made",
    "estimator": "keras.Model with fit",
    "contrib": "keras or keras.ops",
    "lite": "model.export(path, format='litert') of Keras",
    "feature_column": "keras.utils.FeatureSpace",
    "lookup": "keras.layers.StringLookup or IntegerLookup",
    "raw_ops": "the function of the same name in tf or keras.ops",
    "sparse": "dense tensors; keras.layers.Embedding for sparse inputs",
    "SparseTensor": "dense tensors; keras.layers.Embedding for sparse inputs",
    "ragged": "padded tensors with a mask (Dataset.padded_batch, keras.layers.Masking)",
    "RaggedTensor": "padded tensors with a mask (Dataset.padded_batch, keras.layers.Masking)",
    "strings": "Python strings, in a Dataset.map function",
    "signal": "keras.ops.fft, keras.ops.stft and their relatives",
    "saved_model": "model.save('model.keras') and keras.saving.load_model, or model.export(path)",
    "quantization": "model.quantize of Keras",
    "autodiff": "jax.jvp",
    "queue": "tf.data.Dataset",
    "xla": "nothing: everything is compiled by XLA",
    "tpu": "tf.distribute.MirroredStrategy over JAX's TPU devices",
    "audio": "keras.utils.audio_dataset_from_directory, or scipy.io.wavfile",
    "profiler": "jax.profiler, or the TensorBoard callback",
    "mixed_precision": "keras.mixed_precision.set_global_policy",
    "gradients": "tf.GradientTape",
    "hessians": "two nested tf.GradientTapes",
    "scan": "keras.ops.scan",
    "Dataset": "Dataset.from_generator, or a Dataset.map function",
    "foldl": "keras.ops.fori_loop",
    "histogram_fixed_width": "jax.numpy.histogram",
    "extract_volume_patches": "keras.ops.image.extract_patches",
}


def instead_of(name: str) -> str:
    """Say what to use instead of a name such as "tf.lookup.StaticHashTable"."""
    parts = name.removeprefix("tf.").split(".")
    for part in parts:
        if part in _INSTEAD:
            return _INSTEAD[part]
    return _alike(parts[-1]) or "keras.ops or jax.numpy; what tf has here is in docs/migration.md"


def _alike(name: str) -> str | None:
    import jax.numpy
    import keras

    if hasattr(keras.ops, name):
        return f"keras.ops.{name}"
    if hasattr(jax.numpy, name):
        return f"jax.numpy.{name}"
    return None


def missing(name: str) -> AttributeError:
    """Make the error for a name that is not here."""
    return AttributeError(f"{name} is not in manyhands.tf.\n  use: {instead_of(name)}")
