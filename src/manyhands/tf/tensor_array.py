"""tf.TensorArray: tensors by number, stacked in the end."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from manyhands.tf.dtypes import on_device
from manyhands.tf.tensor import tensor


class TensorArray:
    """A list of tensors; what is not written yet is zeros.

    Args:
        dtype: what every tensor is cast to.
        size: how many there are at first.
        dynamic_size: whether there may be more.
    """

    def __init__(
        self,
        dtype: Any,
        size: Any = 0,
        dynamic_size: bool = False,
        clear_after_read: Any = None,
        tensor_array_name: Any = None,
        handle: Any = None,
        flow: Any = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        **_: Any,
    ) -> None:
        del clear_after_read, tensor_array_name, handle, flow, infer_shape
        self.dtype = dtype
        self.dynamic_size = dynamic_size
        self.element_shape = element_shape
        self._parts: list[Any] = [None] * int(np.asarray(size))

    def write(self, index: Any, value: Any, name: Any = None) -> TensorArray:
        """Put a tensor at a number."""
        del name
        index = int(index)
        if index >= len(self._parts):
            if not self.dynamic_size:
                raise IndexError(
                    f"Tried to write to index {index} but array is not resizeable and size is: "
                    f"{len(self._parts)}"
                )
            self._parts += [None] * (index + 1 - len(self._parts))
        self._parts[index] = tensor(value).astype(on_device(self.dtype))
        return self

    def read(self, index: Any, name: Any = None) -> Any:
        """Give the tensor at a number."""
        del name
        return self._filled()[int(index)]

    def stack(self, name: Any = None) -> Any:
        """Lay all of them side by side."""
        del name
        return jnp.stack(self._filled())

    def concat(self, name: Any = None) -> Any:
        """Lay all of them end to end."""
        del name
        return jnp.concatenate(self._filled())

    def gather(self, indices: Any, name: Any = None) -> Any:
        """Lay some of them side by side."""
        del name
        filled = self._filled()
        return jnp.stack([filled[int(index)] for index in np.asarray(indices)])

    def unstack(self, value: Any, name: Any = None) -> TensorArray:
        """Take a tensor apart into this."""
        del name
        self._parts = [part.astype(on_device(self.dtype)) for part in tensor(value)]
        return self

    def size(self, name: Any = None) -> int:
        """How many there are."""
        del name
        return len(self._parts)

    def identity(self) -> TensorArray:
        """Itself."""
        return self

    def _filled(self) -> list[Any]:
        shape = next((part.shape for part in self._parts if part is not None), ())
        empty = jnp.zeros(shape, on_device(self.dtype))
        return [empty if part is None else part for part in self._parts]
