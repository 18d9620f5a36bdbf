"""TensorFlow's names for multi-GPU training, on manyhands.

    import manyhands.tf as tf

or leave the program as it stands and type `manyhands run train.py`, where `import tensorflow`
gives this module.  What is here, what changes and what is missing: `manyhands check train.py`.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

import manyhands  # noqa: F401 - chooses Keras' backend
from manyhands.tf.missing import missing

__version__ = "2.21.0"
"""The TensorFlow whose programs run here."""

_NAMESPACES = [
    "config",
    "data",
    "debugging",
    "distribute",
    "dtypes",
    "errors",
    "image",
    "io",
    "keras",
    "linalg",
    "math",
    "nest",
    "nn",
    "profiler",
    "random",
    "strings",
    "summary",
    "train",
    "autograph",
    "compat",
    "experimental",
    "test",
    "version",
    "sysconfig",
    "initializers",
    "losses",
    "metrics",
    "optimizers",
]

_TOP: dict[str, str] = {
    "tensor": "Tensor cast constant convert_to_tensor is_tensor",
    "known_shapes": "ensure_shape rank shape shape_n size",
    "string_numbers": "as_string",
    "making": (
        "eye fill linspace meshgrid one_hot ones ones_like range sequence_mask zeros zeros_like"
    ),
    "layout": (
        "bitcast broadcast_to concat expand_dims identity pad repeat reshape reverse roll split "
        "squeeze stack stop_gradient tile transpose unstack"
    ),
    "picking": (
        "argsort boolean_mask gather gather_nd newaxis scatter_nd searchsorted slice sort "
        "tensor_scatter_nd_add tensor_scatter_nd_update unique where"
    ),
    "math": (
        "abs acos acosh add add_n argmax argmin asin asinh atan atan2 atanh complex cos cosh "
        "cumsum divide equal exp floor greater greater_equal histogram_fixed_width less "
        "less_equal logical_and logical_not logical_or maximum minimum multiply negative "
        "not_equal pow reduce_all reduce_any reduce_logsumexp reduce_max reduce_mean reduce_min "
        "reduce_prod reduce_sum round saturate_cast scalar_mul sigmoid sign sin sinh sqrt square "
        "subtract tan tanh truediv"
    ),
    "folding": "foldl foldr scan",
    "parting": "dynamic_partition dynamic_stitch reverse_sequence strided_slice unravel_index",
    "linalg": "einsum matmul norm tensordot",
    "control": (
        "case clip_by_global_norm clip_by_norm clip_by_value cond control_dependencies "
        "custom_gradient device executing_eagerly group init_scope map_fn name_scope no_op "
        "numpy_function py_function recompute_grad switch_case timestamp vectorized_map while_loop"
    ),
    "debugging": "Assert assert_equal assert_greater assert_less assert_rank",
    "dtypes": (
        "DType as_dtype bfloat16 bool complex128 complex64 double float16 float32 float64 half "
        "int16 int32 int64 int8 string uint16 uint32 uint64 uint8"
    ),
    "shapes": "TensorShape TensorSpec",
    "variable": "Variable VariableAggregation VariableSynchronization",
    "module": "Module",
    "tensor_array": "TensorArray",
    "function": "function",
}
_HOMES = {name: module for module, names in _TOP.items() for name in names.split()}
_ELSEWHERE = {
    "GradientTape": ("manyhands.keras_bridge.gradient_tape", "GradientTape"),
    "UnconnectedGradients": ("manyhands.tf.places", "UnconnectedGradients"),
    "SparseTensor": ("manyhands.tf.places", "SparseTensor"),
    "RaggedTensor": ("manyhands.tf.places", "RaggedTensor"),
    "IndexedSlices": ("manyhands.tf.places", "IndexedSlices"),
    "print": ("manyhands.tf.control", "print_"),
    "constant_initializer": ("keras.initializers", "Constant"),
    "ones_initializer": ("keras.initializers", "Ones"),
    "zeros_initializer": ("keras.initializers", "Zeros"),
    "random_normal_initializer": ("keras.initializers", "RandomNormal"),
    "random_uniform_initializer": ("keras.initializers", "RandomUniform"),
    "keras": ("keras._tf_keras.keras", ""),
    "initializers": ("keras.initializers", ""),
    "losses": ("keras._tf_keras.keras.losses", ""),
    "metrics": ("keras._tf_keras.keras.metrics", ""),
    "optimizers": ("keras.optimizers", ""),
    "autograph": ("manyhands.tf.places", "autograph"),
    "compat": ("manyhands.tf.places", "compat"),
    "experimental": ("manyhands.tf.places", "experimental"),
    "test": ("manyhands.tf.places", "test"),
    "version": ("manyhands.tf.places", "version"),
    "sysconfig": ("manyhands.tf.places", "sysconfig"),
    "get_logger": ("manyhands.tf.places", "get_logger"),
    "get_static_value": ("manyhands.tf.places", "get_static_value"),
}
_ALL = sorted({*_NAMESPACES, *_HOMES, *_ELSEWHERE, "__version__"})


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        found = getattr(importlib.import_module(f"manyhands.tf.{_HOMES[name]}"), name)
    elif name in _ELSEWHERE:
        module, attribute = _ELSEWHERE[name]
        found = importlib.import_module(module)
        found = getattr(found, attribute) if attribute else found
    elif name in _NAMESPACES:
        return _helpful(importlib.import_module(f"manyhands.tf.{name}"), name)
    elif name.startswith("__"):
        raise AttributeError(name)
    else:
        raise missing(f"tf.{name}")
    globals()[name] = found
    return found


def _helpful(module: Any, namespace: str) -> Any:
    """Let a missing name of a namespace say what to use, too."""
    if "__getattr__" not in vars(module):

        def nothing(name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            raise missing(f"tf.{namespace}.{name}")

        setattr(module, "__getattr__", nothing)  # noqa: B010
    return module


class _Package(ModuleType):
    """This package, where an imported file does not take the place of a name of TensorFlow's.

    Python sets each imported file on its package: `function.py` would hide `tf.function`.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType) and value.__name__ == f"{__name__}.{name}":
            if name in _HOMES or name in _ELSEWHERE:
                return
            if name in _NAMESPACES:
                _helpful(value, name)
        super().__setattr__(name, value)


def __dir__() -> list[str]:
    return _ALL


def _start() -> None:
    from manyhands import keras_bridge
    from manyhands.strategies import strategy  # noqa: F401  (it tells Keras' side of strategies)
    from manyhands.tf import keras_names, numpy_dtypes, tensor

    keras_names.install()
    numpy_dtypes.install()
    tensor.install()
    keras_bridge.install()


sys.modules[__name__].__class__ = _Package
_start()
