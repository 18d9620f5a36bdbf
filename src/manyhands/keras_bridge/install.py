"""Everything that is changed in Keras and JAX, in one table.

In: nothing.  Out: `install` makes all changes, once and in this order; `uninstall` undoes them.
A model without a strategy runs as Keras made it, whether they are made or not.
"""

from __future__ import annotations

from manyhands.engine import jax_inside
from manyhands.keras_bridge import (
    binding,
    compiled,
    conditions,
    datasets,
    optimizers,
    saving,
    seeds,
    steps,
    variable_patches,
    wrapping,
)
from manyhands.keras_bridge.function import refuse_to_print
from manyhands.keras_bridge.patching import Patch, Patches

TABLE: list[Patch] = [
    *variable_patches.PATCHES,
    *wrapping.PATCHES,
    *steps.PATCHES,
    *compiled.PATCHES,
    *saving.PATCHES,
    *optimizers.PATCHES,
    *datasets.PATCHES,
    *seeds.PATCHES,
    *conditions.PATCHES,
    *(
        Patch(*parts, since="JAX 0.10 to 0.12", contract="tests/engine/test_jax_inside.py")
        for parts in jax_inside.changes(before_printing=refuse_to_print)
    ),
]
_patches = Patches()


def install() -> None:
    """Make all changes; a second time does nothing."""
    if not _patches.made:
        _patches.install(TABLE)
        jax_inside.install_fresh_arrays()


def uninstall() -> None:
    """Put everything back; models that belong to a strategy go back to Keras."""
    binding.unbind_all()
    _patches.uninstall()


def is_installed() -> bool:
    """Whether the changes have been made."""
    return bool(_patches.made)
