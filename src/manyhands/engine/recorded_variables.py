"""Have tapes and steps hear of Keras' variables: what is read, and what is written.

In: nothing.  Out: Keras' variables, taught once a process.
"""

from __future__ import annotations

from manyhands.engine.keras_inside.variables import install_variables
from manyhands.engine.step_scope import is_step
from manyhands.engine.tape import note_read, settled


def record_variables() -> None:
    """Do it; a second time does nothing."""
    install_variables(on_read=note_read, on_write=settled, is_step=is_step)
