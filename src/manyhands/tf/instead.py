"""What to use in place of TensorFlow's names that are not here: the words alone.

By whole names first, then by any part of a name, then by the namespace it is in.
"""

from __future__ import annotations

_DICT = "a Python dict, in a Dataset.map function"
_NEEDS = "Keras' own layer needs TensorFlow itself"
_SEQUENCES = "one tf.train.Example a sequence, with tf.io.VarLenFeature"
_OWN_CHECKPOINT = "tf.train.Checkpoint, with save and restore"
_LEFT_OUT = "nothing: leave it out, there is nothing to tune"
_STEPS = "optimizer.iterations, or a tf.Variable that counts the steps"

NAMES = {
    "train.Coordinator": "Python's threading",
    "train.Saver": _OWN_CHECKPOINT,
    "train.NewCheckpointReader": "tf.train.load_checkpoint",
    "train.SequenceExample": _SEQUENCES,
    "train.FeatureList": _SEQUENCES,
    "train.FeatureLists": _SEQUENCES,
    "train.get_or_create_global_step": _STEPS,
    "train.get_global_step": _STEPS,
    "train.create_global_step": _STEPS,
    "train.checkpoints_iterator": "a loop over tf.train.latest_checkpoint",
    "train.MonitoredTrainingSession": "keras.Model with fit, or a loop over strategy.run",
    "io.FixedLenSequenceFeature": "tf.io.VarLenFeature",
    "io.RaggedFeature": "tf.io.VarLenFeature",
    "io.SparseFeature": "tf.io.VarLenFeature",
    "io.TFRecordOptions": "the name of the compression: TFRecordWriter(path, 'GZIP')",
    "io.parse_sequence_example": _SEQUENCES,
    "io.parse_single_sequence_example": _SEQUENCES,
    "io.matching_files": "tf.io.gfile.glob",
    "io.match_filenames_once": "tf.io.gfile.glob",
    "io.decode_and_crop_jpeg": "tf.io.decode_jpeg, then tf.image.crop_to_bounding_box",
    "io.extract_jpeg_shape": "tf.shape of tf.io.decode_jpeg",
    "io.decode_base64": "Python's base64, in a Dataset.map function",
    "io.encode_base64": "Python's base64, in a Dataset.map function",
    "io.decode_compressed": "Python's zlib or gzip, in a Dataset.map function",
    "io.write_graph": "model.export(path): there are no graphs here",
    "data.experimental.AutotuneOptions": _LEFT_OUT,
    "data.experimental.AutotuneAlgorithm": _LEFT_OUT,
    "data.experimental.OptimizationOptions": _LEFT_OUT,
    "data.experimental.ExternalStatePolicy": _LEFT_OUT,
    "data.experimental.enable_debug_mode": "nothing: functions can be debugged as they are",
    "data.experimental.copy_to_device": "nothing: rows go to the devices by themselves",
    "data.experimental.CsvDataset": "tf.data.TextLineDataset, mapped with tf.io.decode_csv",
    "data.experimental.make_csv_dataset": "tf.data.TextLineDataset, mapped with tf.io.decode_csv",
    "data.experimental.make_batched_features_dataset": (
        "tf.data.TFRecordDataset, batched and mapped with tf.io.parse_example"
    ),
    "data.experimental.parse_example_dataset": "Dataset.map with tf.io.parse_example",
    "data.experimental.map_and_batch": "Dataset.map, then Dataset.batch",
    "data.experimental.parallel_interleave": "Dataset.interleave with num_parallel_calls",
    "data.experimental.enumerate_dataset": "Dataset.enumerate",
    "data.experimental.TFRecordWriter": "tf.io.TFRecordWriter, in a loop over the dataset",
    "data.experimental.RandomDataset": "Dataset.range, mapped with tf.random.uniform",
    "data.experimental.Counter": "Dataset.range(start, a large number, step)",
    "data.experimental.service": "a strategy: each process reads its own rows",
    "data.experimental.at": "Dataset.skip(index), then take(1)",
    "data.experimental.from_list": "Dataset.from_tensor_slices, or from_generator",
    "data.experimental.get_structure": "dataset.element_spec",
    "data.experimental.dense_to_ragged_batch": "Dataset.padded_batch",
    "data.experimental.dense_to_sparse_batch": "Dataset.padded_batch",
    "data.experimental.save": "Dataset.cache(filename)",
    "data.experimental.load": "Dataset.cache(filename)",
    "data.experimental.distributed_save": "Dataset.cache(filename)",
    "data.experimental.snapshot": "Dataset.cache(filename)",
    "data.experimental.ignore_errors": "try and except in the generator or Dataset.map function",
    "data.Dataset.ignore_errors": "try and except in the generator or Dataset.map function",
    "data.Dataset.random": "Dataset.range, mapped with tf.random.uniform",
    "data.Dataset.counter": "Dataset.range(start, a large number, step)",
    "data.Dataset.save": "Dataset.cache(filename)",
    "data.Dataset.load": "Dataset.cache(filename)",
    "data.Dataset.snapshot": "Dataset.cache(filename)",
    "data.Dataset.ragged_batch": "Dataset.padded_batch",
    "data.Dataset.sparse_batch": "Dataset.padded_batch",
    "data.Dataset.rebatch": "Dataset.unbatch, then Dataset.batch",
    "data.Dataset.rejection_resample": "Dataset.sample_from_datasets with weights",
    "data.Dataset.make_one_shot_iterator": "iter(dataset)",
    "data.Dataset.make_initializable_iterator": "iter(dataset)",
    "data.FixedLengthRecordDatasetV2": "tf.data.FixedLengthRecordDataset",
    "data.NumpyIterator": "dataset.as_numpy_iterator()",
    "keras.layers.TextVectorization": (
        f"a Python dict of words, over tf.strings.split in a Dataset.map function: {_NEEDS}"
    ),
    "keras.layers.StringLookup": f"{_DICT}: {_NEEDS}",
    "keras.layers.IntegerLookup": f"{_DICT}: {_NEEDS}",
    "keras.layers.Hashing": f"zlib.crc32 and a remainder, in a Dataset.map function: {_NEEDS}",
    "keras.layers.HashedCrossing": (
        f"zlib.crc32 of the joined words, in a Dataset.map function: {_NEEDS}"
    ),
    "keras.layers.TFSMLayer": f"keras.saving.load_model of a .keras file: {_NEEDS}",
}
"""By whole names, without `tf`."""

PARTS = {
    "disable_v2_behavior": "nothing: there are no graphs and sessions here, only eager programs",
    "disable_eager_execution": "nothing: there are no graphs and sessions here",
    "reset_memory_stats": "the difference of two get_memory_info: JAX cannot reset its peak",
    "Session": "TensorFlow 1 programs: run the function directly; everything is eager",
    "placeholder": "TensorFlow 1 programs: give the function an argument",
    "global_variables_initializer": "nothing: variables have their value when they are made",
    "estimator": "keras.Model with fit",
    "contrib": "keras or keras.ops",
    "lite": "model.export(path, format='litert') of Keras",
    "feature_column": "keras.layers: Normalization, Discretization, CategoryEncoding",
    "lookup": f"{_DICT}; keras.layers.StringLookup needs TensorFlow itself",
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
    "Dataset": "Dataset.from_generator, or a Dataset.map function",
    "extract_volume_patches": "keras.ops.image.extract_patches",
}
"""By a part of the name, wherever it stands."""

NAMESPACES = {
    "train": "tf.train.Checkpoint and CheckpointManager, keras.optimizers, or keras.Model with fit",
    "io": "Python's own functions for files and bytes, in a Dataset.map function where it is one",
    "data": "the methods of tf.data.Dataset; anything else with Dataset.from_generator",
    "keras": "what Keras 3 has: keras.io/guides/migrating_to_keras_3 names what came instead",
    "summary": "tf.summary.scalar, histogram, image or text",
    "config": "nothing, or JAX's own settings: docs.jax.dev/en/latest/config_options.html",
    "distribute": "tf.distribute.MirroredStrategy, or what docs/migration.md names",
    "compat": "the name that TensorFlow 2 has for it: TensorFlow 1 is not here",
}
"""By the first part of the name."""
