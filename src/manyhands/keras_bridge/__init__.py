"""The only package that touches Keras' private names.

In: a `Driver` for a model that belongs to a strategy.  Out: Keras' own `fit`, `evaluate`,
`predict` and `*_on_batch`, running on that driver.  A model without a driver runs as ever.
Keras' loops stay Keras': we give them other step functions (`make_*_function`) and another
epoch iterator, and keep the model's state whole while they run.

tests/engine/test_keras_inside.py fails when a new Keras changes what is used here.
"""

from manyhands.keras_bridge.arrays import ArrayRows, array_rows, rows_given
from manyhands.keras_bridge.binding import (
    Driver,
    Feed,
    Feeder,
    bind,
    compiles,
    driver_of,
    function_of,
)
from manyhands.keras_bridge.epochs import FeedEpochIterator, ended
from manyhands.keras_bridge.install import install, uninstall
from manyhands.keras_bridge.lift import lift
from manyhands.keras_bridge.optimizers import learning_rate, set_learning_rate
from manyhands.keras_bridge.roles import STATE_PARTS, Role
from manyhands.keras_bridge.session import session_of
from manyhands.keras_bridge.state import (
    StatePart,
    begin_at_epoch,
    forget_first_epoch,
    get_state,
    hold_state,
    own_state,
    release_state,
)
from manyhands.keras_bridge.taking_turns import give_turns
from manyhands.keras_bridge.watchers import (
    changing_datasets,
    derived_attributes,
    is_asked_early,
    resumers_last,
    runs_only_known_code,
    user_callbacks,
    watches_batches,
)

__all__ = [
    "STATE_PARTS",
    "ArrayRows",
    "Driver",
    "Feed",
    "FeedEpochIterator",
    "Feeder",
    "Role",
    "StatePart",
    "array_rows",
    "begin_at_epoch",
    "bind",
    "changing_datasets",
    "compiles",
    "derived_attributes",
    "driver_of",
    "ended",
    "forget_first_epoch",
    "function_of",
    "get_state",
    "give_turns",
    "hold_state",
    "install",
    "is_asked_early",
    "learning_rate",
    "lift",
    "own_state",
    "release_state",
    "resumers_last",
    "rows_given",
    "runs_only_known_code",
    "session_of",
    "set_learning_rate",
    "uninstall",
    "user_callbacks",
    "watches_batches",
]
