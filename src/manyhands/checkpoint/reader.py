"""Look into a checkpoint without any objects.

In: the path of a checkpoint, or of a directory of them.  Out: names, shapes and values.
"""

from __future__ import annotations

import os

import numpy as np

from manyhands.checkpoint.errors import CheckpointNotFoundError
from manyhands.checkpoint.latest import latest_checkpoint
from manyhands.checkpoint.loading import load_arrays, open_checkpoint
from manyhands.errors import explain

_TF_SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE"


class CheckpointReader:
    """The variables of one checkpoint, by name."""

    def __init__(self, ckpt_dir_or_file: str | os.PathLike[str]) -> None:
        path = os.fspath(ckpt_dir_or_file)
        self._path = latest_checkpoint(path) or path
        self._manifest = open_checkpoint(self._path)

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """Give the shape of each variable."""
        return {key: list(spec.shape) for key, spec in self._manifest.arrays().items()}

    def get_variable_to_dtype_map(self) -> dict[str, np.dtype]:
        """Give the dtype of each variable."""
        return {key: np.dtype(spec.dtype) for key, spec in self._manifest.arrays().items()}

    def has_tensor(self, name: str) -> bool:
        """Whether there is a variable of this name."""
        return name.removesuffix(_TF_SUFFIX) in self._manifest.arrays()

    def get_tensor(self, name: str) -> np.ndarray:
        """Read one variable."""
        key = name.removesuffix(_TF_SUFFIX)
        if not self.has_tensor(name):
            raise CheckpointNotFoundError(
                explain(
                    "The checkpoint has no variable of this name.",
                    got=f"{name!r} in {self._path}",
                    fix=f"choose from list_variables({self._path!r}).",
                )
            )
        return load_arrays(self._path, self._manifest, [key])[key]


def load_checkpoint(ckpt_dir_or_file: str | os.PathLike[str]) -> CheckpointReader:
    """Open a checkpoint, or the latest of a directory."""
    return CheckpointReader(ckpt_dir_or_file)


def list_variables(ckpt_dir_or_file: str | os.PathLike[str]) -> list[tuple[str, list[int]]]:
    """List the variables of a checkpoint: name and shape, by name."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


def load_variable(ckpt_dir_or_file: str | os.PathLike[str], name: str) -> np.ndarray:
    """Read one variable of a checkpoint."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name)
