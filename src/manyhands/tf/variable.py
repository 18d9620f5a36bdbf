"""tf.Variable: Keras' variable under TensorFlow's name and arguments."""

from __future__ import annotations

import enum
from typing import Any

import jax.numpy as jnp
import keras
import numpy as np

from manyhands.tf import slices
from manyhands.tf.dtypes import on_device
from manyhands.tf.shapes import TensorShape
from manyhands.tf.tensor import tensor


class VariableSynchronization(enum.Enum):
    """When replicas agree on a value; they always do here."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """How replicas' values of a variable become one."""

    NONE = "none"
    SUM = "sum"
    MEAN = "mean"
    ONLY_FIRST_REPLICA = "only_first_replica"


class _AnyVariable(type(keras.Variable)):
    """Lets Keras' own variables pass for `tf.Variable`s."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, keras.Variable)


class Variable(keras.Variable, metaclass=_AnyVariable):
    """A tensor that can be changed.

    Args:
        initial_value: a tensor, a number, or a function that gives one.
    """

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        import_scope: Any = None,
        constraint: Any = None,
        synchronization: Any = VariableSynchronization.AUTO,
        aggregation: Any = VariableAggregation.NONE,
        shape: Any = None,
        **_: Any,
    ) -> None:
        del validate_shape, caching_device, variable_def, import_scope, synchronization, shape
        value = initial_value() if callable(initial_value) else initial_value
        if value is None:
            raise ValueError("tf.Variable needs an initial_value.")
        value = tensor(value, dtype)
        super().__init__(
            value,
            dtype=str(on_device(dtype if dtype is not None else value.dtype)),
            trainable=True if trainable is None else trainable,
            autocast=False,
            aggregation=getattr(aggregation, "value", aggregation),
            name=None if name is None else name.replace("/", "_"),
        )
        if constraint is not None:
            self._constraint = constraint

    @property
    def shape(self) -> TensorShape:
        """The shape."""
        return TensorShape(super().shape)

    def get_shape(self) -> TensorShape:
        """The shape."""
        return self.shape

    def read_value(self) -> Any:
        """The value."""
        return self.value

    def numpy(self) -> Any:
        """The value as NumPy has it."""
        value = np.array(self)
        return value if value.ndim else value[()]

    def assign(
        self, value: Any, use_locking: bool = False, name: Any = None, read_value: bool = True
    ) -> Any:
        """Change the value."""
        del use_locking, name, read_value
        super().assign(value)
        return self

    def assign_add(
        self, delta: Any, use_locking: bool = False, name: Any = None, read_value: bool = True
    ) -> Any:
        """Add to the value."""
        del use_locking, name, read_value
        return self.assign(self.value + tensor(delta, self.dtype))

    def assign_sub(
        self, delta: Any, use_locking: bool = False, name: Any = None, read_value: bool = True
    ) -> Any:
        """Subtract from the value."""
        del use_locking, name, read_value
        return self.assign(self.value - tensor(delta, self.dtype))

    def __getitem__(self, index: Any) -> Any:
        return slices.part_of(self, index, super().__getitem__(index))

    def scatter_nd_update(self, indices: Any, updates: Any, name: Any = None) -> Any:
        """Change the elements at the indices."""
        del name
        return self.assign(self._elements(indices).set(tensor(updates, self.dtype)))

    def scatter_nd_add(self, indices: Any, updates: Any, name: Any = None) -> Any:
        """Add to the elements at the indices."""
        del name
        return self.assign(self._elements(indices).add(tensor(updates, self.dtype)))

    def scatter_nd_sub(self, indices: Any, updates: Any, name: Any = None) -> Any:
        """Subtract from the elements at the indices."""
        del name
        return self.assign(self._elements(indices).subtract(tensor(updates, self.dtype)))

    def _elements(self, indices: Any) -> Any:
        return self.value.at[tuple(jnp.moveaxis(tensor(indices), -1, 0))]

    @property
    def initial_value(self) -> Any:
        """The present value."""
        return self.value

    @property
    def device(self) -> str:
        """Where the value is: the first of its devices."""
        devices = getattr(self.value, "devices", None)
        found = sorted(devices(), key=lambda device: device.id)[0] if devices else None
        return "" if found is None else f"/device:{found.platform.upper()}:{found.id}"

    def ref(self) -> Any:
        """Something that can be a key of a dict."""
        return self.experimental_ref()

    def experimental_ref(self) -> Any:
        """Something that can be a key of a dict."""
        from manyhands.tf.tensor import _Reference

        return _Reference(self)
