"""The long names of Keras' losses and metrics beside the short ones.

In: Keras' module of TensorFlow's names, which has `mse` only.  Out: the same, with
`mean_squared_error`, too.  Keras' own modules stay as they are.  As of Keras 3.15; delete when it
has both.
"""

from __future__ import annotations

import importlib


def install() -> None:
    """Put them where TensorFlow's programs look for them."""
    for part in ("losses", "metrics"):
        own = importlib.import_module(f"keras.{part}")
        home = importlib.import_module(f"keras._tf_keras.keras.{part}")
        for name, found in vars(own).items():
            if not name.startswith("_") and not hasattr(home, name):
                setattr(home, name, found)
