"""manyhands.tf: the names that are there, and what is said of those that are not."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest

import manyhands.tf as tf
from manyhands.tf.names_used import status_of

EXPECTED = """
distribute.MirroredStrategy distribute.OneDeviceStrategy distribute.Strategy
distribute.ReduceOp distribute.get_strategy distribute.has_strategy
distribute.in_cross_replica_context distribute.get_replica_context distribute.InputContext
distribute.InputOptions distribute.NcclAllReduce distribute.HierarchicalCopyAllReduce
keras.layers.Dense keras.Model keras.optimizers.Adam keras.losses.Reduction data.Dataset
data.TFRecordDataset data.TextLineDataset data.AUTOTUNE data.experimental.AUTOTUNE data.Options
data.experimental.AutoShardPolicy train.Checkpoint train.CheckpointManager
train.latest_checkpoint train.Example function GradientTape Variable Module device
config.list_physical_devices config.list_logical_devices config.set_visible_devices
config.get_visible_devices config.experimental.set_memory_growth
config.experimental.get_memory_info config.experimental.set_virtual_device_configuration
config.experimental.VirtualDeviceConfiguration config.set_logical_device_configuration
config.LogicalDeviceConfiguration nn.compute_average_loss nn.scale_regularization_loss
nn.softmax nn.relu nn.sparse_softmax_cross_entropy_with_logits math.reduce_mean math.top_k
random.set_seed random.normal random.uniform random.Generator image.resize
image.random_flip_left_right linalg.matmul linalg.inv constant cast reshape concat one_hot
reduce_sum reduce_mean argmax where gather shape zeros ones range stack split transpose float32
int64 string bool print summary.create_file_writer summary.scalar summary.histogram
summary.image io.gfile.GFile io.gfile.makedirs io.parse_single_example io.FixedLenFeature
errors.InvalidArgumentError errors.OutOfRangeError errors.NotFoundError
errors.ResourceExhaustedError TensorSpec TensorShape Tensor clip_by_global_norm custom_gradient
stop_gradient cond while_loop map_fn py_function numpy_function nest.flatten
debugging.assert_equal VariableAggregation.SUM VariableSynchronization.ON_READ
UnconnectedGradients.ZERO autograph.experimental.do_not_convert test.is_gpu_available
version.VERSION compat.v2 compat.v1 initializers.GlorotUniform io.decode_csv
train.ExponentialMovingAverage data.Dataset.range data.Dataset.sample_from_datasets
data.Dataset.choose_from_datasets data.Dataset.scan data.Dataset.take_while
data.Dataset.bucket_by_sequence_length data.experimental.sample_from_datasets
data.experimental.choose_from_datasets data.experimental.assert_cardinality
data.experimental.shuffle_and_repeat data.experimental.prefetch_to_device
data.experimental.get_single_element data.experimental.cardinality strings.split strings.format
io.encode_png io.encode_jpeg image.ssim image.resize_with_pad image.ResizeMethod.MITCHELLCUBIC scan
foldl foldr strided_slice dynamic_partition dynamic_stitch reverse_sequence unravel_index
saturate_cast histogram_fixed_width math.unsorted_segment_mean nn.local_response_normalization
nn.log_poisson_loss linalg.set_diag profiler.experimental.Profile profiler.experimental.start
distribute.cluster_resolver.TFConfigClusterResolver
""".split()  # noqa: SIM905


@pytest.mark.parametrize("name", EXPECTED)
def test_the_name_is_there(name):
    found = tf
    for part in name.split("."):
        found = getattr(found, part)
    assert found is not None
    assert status_of(f"tf.{name}")[0] in ("supported", "translated")


def test_the_version_is_tensorflows():
    assert tuple(map(int, tf.__version__.split(".")[:2])) >= (2, 10)


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("Session", "run the function directly"),
        ("lookup", "StringLookup"),
        ("saved_model", "model.save"),
        ("einsum_nope", "docs/migration.md"),
        ("train.nothing", "tf.train.Checkpoint"),
        ("io.nothing", "Python's own functions"),
        ("io.matching_files", "tf.io.gfile.glob"),
        ("data.nothing", "the methods of tf.data.Dataset"),
        ("data.experimental.nothing", "the methods of tf.data.Dataset"),
        ("data.experimental.unbatch", "the method Dataset.unbatch"),
        ("data.experimental.make_csv_dataset", "tf.io.decode_csv"),
        ("data.Dataset.random", "tf.random.uniform"),
        ("config.experimental.nothing", "JAX's own settings"),
        ("strings.nothing", "Python strings"),
        ("profiler.experimental.nothing", "jax.profiler"),
    ],
)
def test_a_missing_name_says_what_to_use(name, instead):
    *path, last = name.split(".")
    place = reduce(getattr, path, tf)
    with pytest.raises(AttributeError, match=f"tf.{name} is not in manyhands.tf"):
        getattr(place, last)
    with pytest.raises(AttributeError, match=instead):
        getattr(place, last)


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("train.get_or_create_global_step", "optimizer.iterations"),
        ("train.AdamOptimizer", "keras.optimizers"),
        ("train.Saver", "tf.train.Checkpoint"),
        ("get_variable", "TensorFlow 1 is not here"),
    ],
)
def test_names_of_the_first_version_say_what_to_use(name, instead):
    assert instead in status_of(f"tf.compat.v1.{name}")[1]
    with pytest.raises(AttributeError, match=instead):
        reduce(getattr, name.split("."), tf.compat.v1)


def test_a_method_that_datasets_do_not_have_says_what_to_use():
    for dataset in (tf.data.Dataset.range(3), tf.data.Dataset.range(3).map(lambda x: x)):
        with pytest.raises(AttributeError, match=r"use: Dataset.unbatch, then Dataset.batch"):
            dataset.rebatch(2)
        assert not hasattr(dataset, "__array__")


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.distribute.ParameterServerStrategy(),
        lambda: tf.distribute.experimental.CentralStorageStrategy(),
        lambda: tf.distribute.experimental.ParameterServerStrategy(None),
        lambda: tf.distribute.cluster_resolver.TPUClusterResolver(),
    ],
)
def test_strategies_that_do_not_exist_yet_say_so(make):
    with pytest.raises(tf.errors.OpError.__mro__[1], match="is not there yet"):
        make()


@pytest.mark.parametrize(
    "layer", ["TextVectorization", "StringLookup", "IntegerLookup", "Hashing", "HashedCrossing"]
)
def test_layers_that_need_tensorflow_itself_are_missing(layer):
    for home in ("tf.keras.layers", "tf.keras.layers.experimental.preprocessing"):
        status, note = status_of(f"{home}.{layer}")
        assert status == "missing"
        assert "in a Dataset.map function" in note


def test_tensors_behave():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    assert x.shape.as_list() == [2, 2]
    assert x.shape == (2, 2)
    assert x.shape.rank == 2
    assert isinstance(x, tf.Tensor)
    assert x.numpy().tolist() == [[1, 2], [3, 4]]
    assert isinstance(x[0, 0].numpy(), np.float32)
    assert x.dtype == tf.float32
    assert tf.as_dtype(x.dtype).is_floating
    assert str(x.get_shape()) == "(2, 2)"
    assert {x.ref(): 1}[x.ref()] == 1
    assert f"{x[0, 1]:.1f}" == "2.0"
    np.testing.assert_array_equal([1.0, 1.0] + x * [2.0, 3.0], [[3, 7], [7, 13]])
    variable = tf.Variable(lambda: tf.ones([2]), name="a/b", dtype=tf.float32)
    assert variable.assign_add([1.0, 1.0]).numpy().tolist() == [2, 2]
    with pytest.raises(ValueError, match="initial_value"):
        tf.Variable()


def test_kinds_of_tensors_that_are_not_here_can_be_asked_for():
    assert not isinstance(tf.zeros([1]), tf.SparseTensor | tf.RaggedTensor)
    assert status_of("tf.SparseTensor")[0] == "missing"
    with pytest.raises(AttributeError, match="dense tensors"):
        tf.SparseTensor([[0]], [1.0], [1])


def test_a_strategy_can_be_set_for_good():
    strategy = tf.distribute.MirroredStrategy(["cpu:0", "cpu:1"])
    tf.distribute.experimental_set_strategy(strategy)
    try:
        assert tf.distribute.get_strategy() is strategy
    finally:
        tf.distribute.experimental_set_strategy(None)
    assert not tf.distribute.has_strategy()
    assert tf.distribute.get_strategy() is tf.distribute.get_strategy()


@pytest.mark.parametrize("name", ["disable_v2_behavior", "disable_eager_execution", "Session"])
def test_the_first_version_is_not_pretended(name):
    with pytest.raises(AttributeError, match=f"tf.compat.v1.{name} is not in manyhands.tf"):
        getattr(tf.compat.v1, name)


def test_arguments_that_change_a_result_are_not_swallowed():
    with pytest.raises(TypeError):
        tf.linalg.diag([1.0], padding_value=3)
    with pytest.raises(TypeError, match="tensors"):
        tf.reshape(tensors=[1.0], shape=[1, 1])
    with pytest.raises(ValueError, match="ratio"):
        tf.io.decode_jpeg(b"", ratio=2)
    np.testing.assert_array_equal(tf.io.decode_raw(b"\1\2", tf.uint8, fixed_length=3), [1, 2, 0])
    np.testing.assert_array_equal(tf.math.bincount([0, 3, 3], maxlength=2), [1, 0])
    clipped = tf.nn.embedding_lookup([[3.0, 4.0]], [0], max_norm=1.0)
    np.testing.assert_allclose(clipped, [[0.6, 0.8]], rtol=1e-6)
