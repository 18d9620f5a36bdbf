"""What every strategy is: an engine with a name, a scope, and the models that belong to it.

In: devices.  Out: models made in `scope()`, or adopted, train on those devices.
Each model keeps its own strategy, so strategies can live side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import keras

from manyhands import keras_bridge
from manyhands.data.plain import argument_for_jax, plain_everywhere
from manyhands.devices import DeviceLike, resolve
from manyhands.devices.choose import JaxDevice, name_of
from manyhands.engine import Engine, Layout, SpmdEngine, replicated
from manyhands.errors import BackendError, ScopeError, StepError, explain
from manyhands.keras_bridge.hooks import hooks
from manyhands.keras_bridge.lift import takes_only_data
from manyhands.strategies import reductions
from manyhands.strategies.context import get_strategy, in_scope, sees_everything
from manyhands.strategies.distributed_dataset import (
    DistributedDataset,
    InputContext,
    ValueContext,
)
from manyhands.strategies.per_replica import PerReplicaValue
from manyhands.strategies.reduce_op import ReduceOp
from manyhands.strategies.replica_context import summed_over_replicas
from manyhands.strategies.replicas import NumReplicas
from manyhands.strategies.running import Runner
from manyhands.tracebacks import for_the_program
from manyhands.training import EngineDriver

Model = TypeVar("Model")


class Strategy:
    """An engine with a name and the user's words.

    Args:
        engine: what runs the steps, and where.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._driver = EngineDriver(engine)
        self._runner = Runner(self)
        keras_bridge.install()

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas share a batch; 1 inside a step, which sees the whole batch."""
        return 1 if sees_everything() else NumReplicas(self.layout.num_replicas)

    @property
    def num_devices(self) -> int:
        """How many devices there are."""
        return len(self.layout.devices)

    @property
    def engine(self) -> Engine:
        """What runs the steps."""
        return self._engine

    @property
    def layout(self) -> Layout:
        """Where state and rows live."""
        return self._engine.layout

    @property
    def devices(self) -> tuple[JaxDevice, ...]:
        """The devices, as JAX knows them."""
        return self.layout.devices

    @property
    def extended(self) -> Any:
        """TensorFlow's back door to a strategy's inside, which is another here."""
        raise AttributeError(
            explain(
                "strategy.extended is not here: it is the inside of TensorFlow's strategies.",
                got=type(self).__name__,
                fix="use run, reduce, gather, local_results, devices and num_replicas_in_sync of "
                "the strategy itself.",
            )
        )

    @contextmanager
    def scope(self) -> Iterator[Strategy]:
        """Models made in here belong to this strategy, wherever they are compiled or fitted."""
        with in_scope(self), jax.default_device(self.layout.local_devices[0]):
            yield self

    # custom loops

    def run(
        self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None, options: Any = None
    ) -> Any:
        """Run a step on every device; it sees the whole batch, as on one device."""
        del options
        if not isinstance(args, tuple | list):
            raise StepError(
                explain(
                    "The arguments of a step are a tuple.",
                    got=f"args={type(args).__name__}",
                    fix="strategy.run(step, args=(x,)), with the comma.",
                )
            )
        with for_the_program:
            given = plain_everywhere((tuple(args), dict(kwargs or {})), argument_for_jax)
            return self._runner.run(fn, *given)

    def reduce(self, reduce_op: Any, value: Any, axis: int | None = None) -> Any:
        """Bring the replicas' values together: summed or averaged, also along `axis` if given."""
        return reductions.reduce(ReduceOp.of(reduce_op), value, axis)

    def gather(self, value: Any, axis: int) -> Any:
        """Lay the replicas' values end to end."""
        return reductions.gather(value, axis)

    def local_results(self, value: Any) -> tuple[Any, ...]:
        """List the replicas' values."""
        return reductions.local_results(value, self.layout.rows.own)

    def distribute_dataset(self, dataset: Any, options: Any = None) -> DistributedDataset:
        """Give a dataset's batches with their rows split over the devices."""
        del options
        return DistributedDataset(dataset, self.layout)

    def distribute_datasets_from_function(
        self, dataset_fn: Callable[[InputContext], Any], options: Any = None
    ) -> DistributedDataset:
        """Give what the function's dataset yields: each replica one of its batches."""
        del options
        dataset = dataset_fn(self._input_context())
        return DistributedDataset(dataset, self.layout, per_replica=True)

    def _input_context(self) -> InputContext:
        return InputContext(self.layout.num_replicas)

    def distribute_values_from_function(self, value_fn: Callable[[ValueContext], Any]) -> Any:
        """Make one value for each replica."""
        count = self.layout.num_replicas
        values = [value_fn(ValueContext(i, count)) for i in range(count)]
        if count == 1:
            return values[0]
        return jax.tree.map(lambda *parts: PerReplicaValue(jnp.stack(parts)), *values)

    experimental_run_v2 = run
    experimental_local_results = local_results
    experimental_distribute_dataset = distribute_dataset
    experimental_distribute_datasets_from_function = distribute_datasets_from_function
    experimental_distribute_values_from_function = distribute_values_from_function

    def adopt(self, model: Model) -> Model:
        """Take over a model that already exists; it keeps its weights and its optimizer."""
        if not hasattr(model, "train_function"):
            raise ScopeError(
                explain(
                    "Only a Keras model can be adopted.",
                    got=type(model).__name__,
                    fix="pass a keras.Model; give a plain layer to a model first.",
                )
            )
        keras_bridge.bind(model, self._driver)
        return model

    def __repr__(self) -> str:
        names = ", ".join(str(name_of(device)) for device in self.devices)
        return f"{type(self).__name__}([{names}])"


def mirrored_on(devices: DeviceLike | Iterable[DeviceLike] | None = None) -> SpmdEngine:
    """Run steps on devices that each have the whole state, and an even share of every batch."""
    _require_jax()
    return SpmdEngine(replicated(resolve(devices)))


def _require_jax() -> None:
    if keras.backend.backend() != "jax":
        raise BackendError(
            explain(
                "manyhands needs Keras on its JAX backend, and Keras has been loaded with another.",
                got=f"Keras' backend is {keras.backend.backend()!r}",
                fix="import manyhands before keras, or set KERAS_BACKEND=jax in the environment.",
            )
        )


def _on_new_model(model: Any) -> None:
    strategy = get_strategy()
    if strategy is not None and keras.distribution.distribution() is None:
        strategy.adopt(model)


def _on_other_model(model: Any, called: str) -> None:
    """Say so when a model is trained in a scope that it does not belong to."""
    strategy = get_strategy()
    driver = keras_bridge.driver_of(model)
    if driver is None and strategy is None and _is_written_for_tensorflow(model):
        chosen = jax.config.jax_default_device  # pyright: ignore[reportAttributeAccessIssue]
        Strategy(mirrored_on([chosen or jax.local_devices()[0]])).adopt(model)
        return
    if strategy is None or driver is strategy._driver:
        return
    if keras.distribution.distribution() is not None:
        return  # the user chose keras.distribution for what happens here
    if called not in ("compile", "fit", "train_on_batch"):
        return
    whose = "outside of it" if driver is None else "under another strategy"
    raise ScopeError(
        explain(
            f"{called} was called in the scope of a strategy that the model does not belong to.",
            got=f"{strategy!r}; model {model.name!r} was made {whose}",
            fix="make the model inside `with strategy.scope():`, or call "
            "strategy.adopt(model) first.",
        )
    )


def _is_written_for_tensorflow(model: Any) -> bool:
    """Whether a model has steps that Keras on JAX would not know how to call."""
    return any(takes_only_data(model, role) for role in ("train", "test", "predict"))


hooks.on_new_model = _on_new_model
hooks.on_other_model = _on_other_model
hooks.before_apply = summed_over_replicas
