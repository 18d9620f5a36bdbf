"""tf.distribute: manyhands' strategies under TensorFlow's names."""

from __future__ import annotations

import functools
from typing import Any

from manyhands import cluster, config, strategies
from manyhands.devices.names import parse
from manyhands.engine.split_rows import SplitRows
from manyhands.errors import DeviceError, ManyhandsError, explain, warn
from manyhands.strategies import (
    CommunicationImplementation,
    CommunicationOptions,
    DistributedDataset,
    InputContext,
    MultiWorkerMirroredStrategy,
    OneDeviceStrategy,
    ReduceOp,
    Strategy,
    get_replica_context,
    has_strategy,
    in_cross_replica_context,
)
from manyhands.strategies.distributed_dataset import DistributedIterator, ValueContext
from manyhands.strategies.per_replica import PerReplicaRows, PerReplicaValue
from manyhands.strategies.replica_context import ReplicaContext
from manyhands.tf.missing import Names

DistributedValues = SplitRows | PerReplicaValue | PerReplicaRows


class MirroredStrategy(strategies.MirroredStrategy):
    """A copy of the model on each device of this process, all trained in step."""

    def __init__(self, devices: Any = None, cross_device_ops: Any = None) -> None:
        del cross_device_ops  # XLA chooses
        super().__init__(_rehearsed(devices))


def _rehearsed(devices: Any) -> Any:
    """Take virtual CPU devices for GPUs that are not there, where somebody asked for some."""
    if devices is None or config.settings().virtual_devices is None or config.jax_may_use_gpus():
        return devices
    named = [devices] if isinstance(devices, str) else list(devices)
    replaced = []
    for one in named:
        try:
            name = parse(one) if isinstance(one, str) else None
        except DeviceError:
            name = None
        is_gpu = name is not None and name.kind == "gpu"
        replaced.append(f"CPU:{name.index}" if name is not None and is_gpu else one)
    if replaced != named:
        warn(
            f"There is no GPU here; {', '.join(map(str, named))} are rehearsed on "
            f"{', '.join(map(str, replaced))}."
        )
    return replaced


def get_strategy() -> Any:
    """Return the strategy whose scope or step we are in; outside of any, one of one device."""
    return strategies.get_strategy() or _default()


@functools.cache
def _default() -> Any:
    """One for the program, which keeps the steps it has compiled."""
    import jax

    chosen = jax.config.jax_default_device  # pyright: ignore[reportAttributeAccessIssue]
    return OneDeviceStrategy(chosen or jax.local_devices()[0])


_entered: list[Any] = []


def experimental_set_strategy(strategy: Any) -> None:
    """Enter a strategy's scope for good; None leaves it again."""
    while _entered:
        _entered.pop().__exit__(None, None, None)
    if strategy is not None:
        scope = strategy.scope()
        scope.__enter__()
        _entered.append(scope)  # held: a scope that nobody holds is left


class _NotYet:
    """A strategy that does not exist yet."""

    def __init__(self, name: str, instead: str) -> None:
        self._name = name
        self.instead = instead

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise ManyhandsError(
            explain(
                f"tf.distribute.{self._name} is not there yet.",
                got=f"a program that makes a {self._name}",
                fix=self.instead,
            )
        )


_ONE_PROCESS = "use tf.distribute.MirroredStrategy(), which trains on every device of one process."
ParameterServerStrategy = _NotYet("ParameterServerStrategy", _ONE_PROCESS)
TPUStrategy = _NotYet("TPUStrategy", _ONE_PROCESS)


class _Accepted:
    """Taken, and not needed: XLA chooses how devices exchange values."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass


class CrossDeviceOps(_Accepted):
    """How devices exchange values; XLA chooses."""


class NcclAllReduce(CrossDeviceOps):
    """How devices exchange values; XLA chooses."""


class HierarchicalCopyAllReduce(CrossDeviceOps):
    """How devices exchange values; XLA chooses."""


class ReductionToOneDevice(CrossDeviceOps):
    """How devices exchange values; XLA chooses."""


class RunOptions(_Accepted):
    """How `run` runs."""


class InputOptions(_Accepted):
    """How a dataset is distributed."""


class _OldMultiWorkerMirroredStrategy(MultiWorkerMirroredStrategy):
    """A copy of the model on each device of each process, in the older spelling."""

    def __init__(self, communication: Any = None, cluster_resolver: Any = None) -> None:
        del communication  # JAX chooses
        super().__init__(cluster_resolver)


experimental = Names(
    "tf.distribute.experimental",
    MultiWorkerMirroredStrategy=_OldMultiWorkerMirroredStrategy,
    CentralStorageStrategy=_NotYet("experimental.CentralStorageStrategy", _ONE_PROCESS),
    ParameterServerStrategy=ParameterServerStrategy,
    TPUStrategy=TPUStrategy,
    ValueContext=ValueContext,
    CommunicationOptions=CommunicationOptions,
    CommunicationImplementation=CommunicationImplementation,
    CollectiveCommunication=CommunicationImplementation,
    CollectiveHints=_Accepted,
)
cluster_resolver = Names(
    "tf.distribute.cluster_resolver",
    ClusterResolver=cluster.ClusterResolver,
    KubernetesClusterResolver=cluster.KubernetesClusterResolver,
    SimpleClusterResolver=cluster.SimpleClusterResolver,
    SlurmClusterResolver=cluster.SlurmClusterResolver,
    TFConfigClusterResolver=cluster.TFConfigClusterResolver,
    TPUClusterResolver=_NotYet("cluster_resolver.TPUClusterResolver", _ONE_PROCESS),
)

__all__ = [
    "CrossDeviceOps",
    "DistributedDataset",
    "DistributedIterator",
    "DistributedValues",
    "HierarchicalCopyAllReduce",
    "InputContext",
    "InputOptions",
    "MirroredStrategy",
    "MultiWorkerMirroredStrategy",
    "NcclAllReduce",
    "OneDeviceStrategy",
    "ParameterServerStrategy",
    "ReduceOp",
    "ReductionToOneDevice",
    "ReplicaContext",
    "RunOptions",
    "Strategy",
    "TPUStrategy",
    "cluster_resolver",
    "experimental",
    "experimental_set_strategy",
    "get_replica_context",
    "get_strategy",
    "has_strategy",
    "in_cross_replica_context",
]
