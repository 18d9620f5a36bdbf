"""The only package that touches Keras' private names.

In: a `Driver` for a model that belongs to a strategy.  Out: Keras' own `fit`, `evaluate`,
`predict` and `*_on_batch`, running on that driver.  A model without a driver runs as ever.
Keras' loops stay Keras': we give them other step functions (`make_*_function`) and another
epoch iterator, and keep the model's state whole while they run.

tests/engine/test_keras_inside.py fails when a new Keras changes what is used here.
"""

from manyhands.engine.keras_inside.arrays import ArrayRows, array_rows, rows_given
from manyhands.engine.keras_inside.binding import (
    Driver,
    Feed,
    Feeder,
    bind,
    compiles,
    driver_of,
    function_of,
)
from manyhands.engine.keras_inside.epochs import FeedEpochIterator, ended
from manyhands.engine.keras_inside.optimizers import learning_rate, set_learning_rate
from manyhands.engine.keras_inside.state import (
    Part,
    begin_at_epoch,
    forget_first_epoch,
    get_state,
    hold_state,
    own_state,
    release_state,
    state_names,
)
from manyhands.engine.keras_inside.turns import give_turns
from manyhands.engine.keras_inside.watchers import (
    changing_datasets,
    derived_attributes,
    is_asked_early,
    resumers_last,
    runs_only_known_code,
    user_callbacks,
    watches_batches,
)
from manyhands.engine.keras_inside.wrapping import install
from manyhands.engine.roles import STATE_PARTS

__all__ = [
    "STATE_PARTS",
    "ArrayRows",
    "Driver",
    "Feed",
    "FeedEpochIterator",
    "Feeder",
    "Part",
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
    "own_state",
    "release_state",
    "resumers_last",
    "rows_given",
    "runs_only_known_code",
    "set_learning_rate",
    "state_names",
    "user_callbacks",
    "watches_batches",
]
