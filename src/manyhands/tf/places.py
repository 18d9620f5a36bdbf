"""Small namespaces at the top of tf: autograph, compat, experimental, test, version."""

from __future__ import annotations

import enum
import importlib
import logging
from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp
import numpy as np

from manyhands.data.dataset.optional import Optional
from manyhands.engine.jax_inside import is_tracer
from manyhands.tf.missing import Names, missing


class UnconnectedGradients(enum.Enum):
    """What a gradient is where nothing connects target and source."""

    NONE = "none"
    ZERO = "zero"


class _Absent(type):
    """A kind of tensor that does not exist here: nothing is one, and none can be made."""

    instead = ""

    def __call__(cls, *_: Any, **__: Any) -> Any:
        raise missing(f"tf.{cls.__name__}")


class SparseTensor(metaclass=_Absent):
    """Not here; programs may ask whether something is one."""

    instead = "use dense tensors; keras.layers.Embedding for sparse inputs"


class RaggedTensor(metaclass=_Absent):
    """Not here; programs may ask whether something is one."""

    instead = "use padded tensors with a mask (Dataset.padded_batch, keras.layers.Masking)"


class IndexedSlices(metaclass=_Absent):
    """Not here: gradients of embeddings are dense."""

    instead = "use the gradient as it is: it is dense"


def _as_it_is(function: Any = None, *_: Any, **__: Any) -> Any:
    """Give the function back; without one, a decorator that does."""
    return (lambda given: given) if function is None else function


class _Compat:
    """tf.compat: the second version is tf itself, the first is not here."""

    @property
    def v2(self) -> Any:
        """tf itself."""
        return importlib.import_module("manyhands.tf")

    @property
    def v1(self) -> Any:
        """What of the first version still makes sense."""
        return _V1()

    @staticmethod
    def as_bytes(value: Any, encoding: str = "utf-8") -> bytes:
        """Text as bytes."""
        return value.encode(encoding) if isinstance(value, str) else bytes(value)

    @staticmethod
    def as_str(value: Any, encoding: str = "utf-8") -> str:
        """Bytes as text."""
        return value.decode(encoding) if isinstance(value, bytes) else str(value)

    as_text = as_str_any = as_str


class _V1:
    """tf.compat.v1: a few names that second-version programs still use."""

    def __getattr__(self, name: str) -> Any:
        if name in ("enable_eager_execution", "enable_v2_behavior"):
            return lambda *_, **__: None
        if name == "logging":
            return SimpleNamespace(
                set_verbosity=lambda *_: None, DEBUG=10, INFO=20, WARN=30, ERROR=40, FATAL=50
            )
        if name == "SummaryMetadata":
            return lambda **given: SimpleNamespace(plugin_data=SimpleNamespace(), **given)
        try:
            return getattr(importlib.import_module("manyhands.tf"), name)
        except AttributeError:
            raise missing(f"tf.compat.v1.{name}") from None


def _gpu_name(*_: Any) -> str:
    from manyhands.tf.config import list_physical_devices

    return "/device:GPU:0" if list_physical_devices("GPU") else ""


def get_logger() -> logging.Logger:
    """The logger that TensorFlow's programs make quiet."""
    return logging.getLogger("tensorflow")


def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """The value where it is known."""
    del partial
    return None if is_tracer(tensor) else np.asarray(tensor)


autograph = Names(
    "tf.autograph",
    experimental=Names(
        "tf.autograph.experimental",
        do_not_convert=_as_it_is,
        set_loop_options=lambda *_, **__: None,
    ),
    set_verbosity=lambda *_, **__: None,
    to_graph=_as_it_is,
)
compat = _Compat()
experimental = Names("tf.experimental", Optional=Optional, numpy=jnp)
test = Names(
    "tf.test",
    is_gpu_available=lambda *_, **__: bool(_gpu_name()),
    gpu_device_name=_gpu_name,
    is_built_with_cuda=lambda: bool(_gpu_name()),
    is_built_with_gpu_support=lambda: bool(_gpu_name()),
)
version = Names("tf.version", VERSION="2.21.0", GIT_VERSION="manyhands", COMPILER_VERSION="XLA")
sysconfig = Names("tf.sysconfig", get_build_info=lambda: {"is_cuda_build": bool(_gpu_name())})
