"""Let Keras know our datasets, in programs that make no strategy too.

In: nothing.  Out: Keras' `fit`, `evaluate` and `predict` take a Dataset, once one has been made.
Keras is imported for it, and left alone where it runs on another backend.
"""

from __future__ import annotations

import importlib
from functools import cache

_TEACHER = "manyhands.keras_bridge.install"
"""Found by its name: that room is built on datasets, and knows what Keras is like inside."""


@cache
def tell_keras() -> None:
    """Do it; a second time does nothing."""
    import keras

    if keras.backend.backend() == "jax":
        importlib.import_module(_TEACHER).install()
