"""Let `import tensorflow` give `manyhands.tf`, for a program that is left as it stands.

In: nothing.  Out: `tensorflow`, `tensorflow.keras` and their parts in Python's modules.
"""

from __future__ import annotations

import importlib
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from manyhands import config
from manyhands.keras_bridge.no_tensorflow import keras_has_no_tensorflow
from manyhands.tf import backend
from manyhands.tf.missing import instead_of

_KERAS = "keras._tf_keras.keras"


class TensorFlowFinder(MetaPathFinder, Loader):
    """Finds the parts of `tensorflow` in manyhands.tf and in Keras."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Find one module; None for those that are not TensorFlow's."""
        del path, target
        if fullname != "tensorflow" and not fullname.startswith("tensorflow."):
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> Any:
        """Give the module that stands for it."""
        found = _find(spec.name)
        _specs[spec.name] = getattr(found, "__spec__", None)
        return found

    def exec_module(self, module: ModuleType) -> None:
        """Leave the module as it was: it has been loaded under its own name."""
        spec = module.__spec__
        if spec is not None and _specs.get(spec.name) is not None:
            module.__spec__ = _specs[spec.name]


_specs: dict[str, Any] = {}


def _find(fullname: str) -> Any:
    parts = fullname.split(".")[1:]
    if parts[:1] == ["keras"]:
        try:
            return importlib.import_module(".".join([_KERAS, *parts[1:]]))
        except ModuleNotFoundError:
            return importlib.import_module(".".join(["keras", *parts[1:]]))
    found: Any = importlib.import_module("manyhands.tf")
    for part in parts:
        found = getattr(found, part, None)
        if found is None:
            raise ModuleNotFoundError(
                f"{fullname} is not in manyhands.tf.\n  use: {instead_of('.'.join(parts))}",
                name=fullname,
            )
    return found


def reach_children() -> None:
    """Let Python processes that this one starts have it too: spawned workers, subprocesses.

    They find a `sitecustomize` of ours on PYTHONPATH, which waits for `import tensorflow`.
    """
    ours = str(Path(__file__).parent / "for_children")
    config.add_to_path_of_children(ours)


def install() -> None:
    """Put it in place, before the program imports anything."""
    import keras  # noqa: F401 - Keras must not find us where it looks for TensorFlow

    keras_has_no_tensorflow()
    backend.install()
    for name in [name for name in sys.modules if name.split(".")[0] == "tensorflow"]:
        del sys.modules[name]
    if not any(isinstance(finder, TensorFlowFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, TensorFlowFinder())
    sys.modules["tensorflow"] = importlib.import_module("manyhands.tf")
