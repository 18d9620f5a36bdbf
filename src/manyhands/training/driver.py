"""Runs every model of one engine through Keras' own loops.

In: an Engine; models, their data and Keras' calls on them.  Out: step functions and feeders.
Decides how an epoch is fed: on the devices or ahead from the host, one step a launch or many.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import jax

from manyhands import config, keras_bridge
from manyhands.data import ArrayFeeder, FeedCounts, FeedPolicy, StreamFeeder
from manyhands.devices.inventory import host_memory
from manyhands.engine import EagerEngine, Engine, array_spec
from manyhands.engine.agreement import agreement_on
from manyhands.engine.interrupts import interrupts
from manyhands.engine.pace import launches_ahead
from manyhands.keras_bridge import Role, lift
from manyhands.plan import meeting, steps_per_launch
from manyhands.training import call as calls
from manyhands.training.checks import check_data
from manyhands.training.step_function import StepFunction

_KEPT_FRACTION = 0.1
"""Data may take this part of what is free on a device."""
_STACK_BYTES = 64 * 2**20
"""Rows of several steps travel together up to this size."""


def feed_counts(model: Any) -> FeedCounts | None:
    """What the last call of fit, evaluate or predict on a model has fed so far."""
    return keras_bridge.session_of(model).counts


class EngineDriver:
    """Keras' loops on one engine."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.layout = engine.layout
        self.agreement = agreement_on(engine.layout)

    @property
    def spans_processes(self) -> bool:
        """Whether other processes run the same models with this one."""
        return self.layout.spans_processes

    def make_function(self, model: Any, role: Role) -> StepFunction:
        """Compile one role of a model, or keep it eager where the user asked for that."""
        engine = self.engine if keras_bridge.compiles(model) else EagerEngine(self.layout)
        program = engine.compile(lift(model, role), gives="rows" if role == "predict" else "logs")
        return StepFunction(
            model,
            role,
            program,
            launches_ahead=launches_ahead(self.layout),
            agreement=self.agreement,
        )

    def make_feeder(self, model: Any, adapter: Any, steps_per_execution: int) -> Any:
        """Feed arrays by row number, anything else by asking for its next batch."""
        rows = keras_bridge.array_rows(adapter)
        feeder: ArrayFeeder | StreamFeeder
        if rows is None:
            feeder = StreamFeeder(
                self._batches(model, adapter),
                lambda: self._stream_policy(model, steps_per_execution),
                agreement=self.agreement,
            )
        else:
            arrays = ArrayFeeder(
                rows,
                lambda: self._array_policy(model, arrays, steps_per_execution),
                agreement=self.agreement,
            )
            feeder = arrays
        call = calls.current(model)
        if call is not None:
            call.feeders.append(feeder)
        if call is None or call.within is None:  # validation inside `fit` does not count as it
            keras_bridge.session_of(model).counts = feeder.counts
        return feeder

    def _batches(self, model: Any, adapter: Any) -> Any:
        """Let each process read its own rows of a dataset, where it can."""
        own = getattr(adapter, "own_iterator", None)
        if own is None or self.agreement is None or not keras_bridge.compiles(model):
            return adapter.get_jax_iterator
        group = self.agreement.group
        return lambda: own(group.index, group.size, self.layout.rows.share)

    def changes(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Change what Keras was asked for.

        One process shows how far training is, not all.  Who keeps what callbacks do comes last.
        """
        changes: dict[str, Any] = {}
        ordered = keras_bridge.resumers_last(arguments.get("callbacks"))
        if ordered is not None:
            changes["callbacks"] = ordered
        if self.agreement is not None and self.agreement.group.index:
            changes["verbose"] = 0
        return changes

    @contextmanager
    def around(self, model: Any, role: Role, arguments: dict[str, Any]) -> Iterator[None]:
        """Check the data, watch for Ctrl-C, and leave the model whole however the call ends."""
        check_data(model, arguments)
        if self.agreement is not None and keras_bridge.is_asked_early(arguments.get("x")):
            self.agreement.order()
        with ExitStack() as stack:
            stack.enter_context(jax.default_device(self.layout.local_devices[0]))
            stack.enter_context(interrupts.watched())
            stack.enter_context(calls.entered(calls.Call.of(model, role, arguments)))
            stack.callback(self._let_go, model, role)
            yield

    def trusts_logs(self, model: Any) -> bool:
        """Whether nobody looked, so nobody changed a metric, since the last step."""
        call = calls.current(model)
        return call is not None and not call.watched

    def place(self, arrays: list[Any]) -> list[Any]:
        """Put a copy on every device."""
        return jax.device_put(arrays, self.layout.local_copies)

    def _let_go(self, model: Any, role: Role) -> None:
        keras_bridge.release_state(model)
        if role == "train":
            keras_bridge.forget_first_epoch(model)
        function = keras_bridge.function_of(model, role)
        if isinstance(function, StepFunction):
            function.forget()

    # policies

    def _function(self, model: Any) -> tuple[calls.Call, StepFunction] | None:
        call = calls.current(model)
        function = None if call is None else keras_bridge.function_of(model, call.role)
        if call is None or not isinstance(function, StepFunction):
            return None  # Keras is only building the model
        return call, function

    def _stream_policy(self, model: Any, stride: int) -> FeedPolicy | None:
        found = self._function(model)
        if found is None:
            return None
        threads = 0 if self.layout.platform == "cpu" else 1
        return FeedPolicy(
            placer=found[1].program.rows, steps_per_turn=stride, turns_ahead=2, num_threads=threads
        )

    def _array_policy(self, model: Any, feeder: ArrayFeeder, stride: int) -> FeedPolicy | None:
        found = self._function(model)
        if found is None:
            return None
        call, function = found
        free = stride == 1 and not call.watched
        if free:
            stride = meeting(
                self._free_stride(model, function, feeder, call.role), call.looks_every
            )
        keep = stride > 1 and self._keeps(call, feeder)
        on_host = self.layout.platform == "cpu"
        threads = _feed_threads(on_host=on_host, keep=keep, watched=call.watched)
        draws_ahead = feeder.rows.shuffle == "batch" and call.keeps_place
        return FeedPolicy(
            placer=function.program.rows,
            steps_per_turn=stride,
            fixed_turns=not free,
            keep_on_device=keep,
            turns_ahead=1 if on_host else 3,
            num_threads=0 if draws_ahead else threads,
            early_passes=call.num_epochs if call.undisturbed and not call.keeps_place else 0,
        )

    def _free_stride(
        self, model: Any, function: StepFunction, feeder: ArrayFeeder, role: Role
    ) -> int:
        """Choose the steps of one launch when nobody looks between them."""
        arrays, size = feeder.rows.arrays(), feeder.rows.batch_size
        num_full = feeder.rows.num_rows // size
        if arrays is None or num_full < 2:
            return 1
        wanted = config.settings().steps_per_dispatch
        if wanted is not None:
            return min(wanted, num_full)
        batch = jax.tree.map(lambda part: array_spec(part, num_rows=size), arrays)
        spec = function.program.rows.spec(batch)
        key = (spec, num_full)
        if key not in function.steps_per_launch:
            state = keras_bridge.get_state(model, role)
            function.steps_per_launch[key] = steps_per_launch(
                function.program.flops(state, spec, batch),
                platform=self.layout.platform,
                num_full=num_full,
                batch_bytes=_bytes(arrays) // max(1, feeder.rows.num_rows) * size,
                limit_bytes=_STACK_BYTES,
            )
        return function.steps_per_launch[key]

    def _keeps(self, call: calls.Call, feeder: ArrayFeeder) -> bool:
        """Whether the data goes to the devices once; a long step hides its feed anyway.

        Not when somebody else's callback runs between epochs: it may change the arrays.
        """
        outer = call.within or call
        if config.settings().data_on_device == "never" or not outer.undisturbed:
            return False
        arrays = feeder.rows.arrays()
        if arrays is None or not call.repeats_data:
            return False
        return feeder.kept is not None or _bytes(arrays) <= _KEPT_FRACTION * self._free_bytes()

    def _free_bytes(self) -> int:
        if self.layout.platform == "cpu":
            return (host_memory()[1] or 0) // len(self.layout.local_devices)
        free = []
        for device in self.layout.local_devices:
            stats = device.memory_stats() or {}
            free.append(stats.get("bytes_limit", 0) - stats.get("bytes_in_use", 0))
        return min(free)


def _bytes(arrays: Any) -> int:
    return sum(part.nbytes for part in jax.tree.leaves(arrays))


def _feed_threads(*, on_host: bool, keep: bool, watched: bool) -> int:
    """Row numbers need one thread, rows several; a CPU device is busy computing on them."""
    if on_host:
        return 0 if keep or watched else 1
    return 1 if keep else 4
