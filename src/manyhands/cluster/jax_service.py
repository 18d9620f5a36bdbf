"""The only module that starts JAX's distributed runtime, by its private names.

In: where the coordinator is and who we are.  Out: JAX sees the devices of every process.
`jax.distributed.initialize` cannot be used: it ends the process with an abort when somebody is
missing or lost, binds every interface, and waits minutes at the end.  Who is lost is the hub's to
find out, so JAX's own heartbeats are given a month.

tests/cluster/test_jax_service.py fails when a new JAX changes what is used here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax._src import distributed, xla_bridge
from jax._src.lib import _jax  # pyright: ignore[reportPrivateImportUsage]
from jax.extend.backend import clear_backends
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from manyhands.cluster.doors import sockets
from manyhands.cluster.listening import secluded
from manyhands.cluster.tls import Tls
from manyhands.errors import ClusterError, explain

_MONTH_S = 30 * 24 * 3600
_gloo_doors: frozenset[str] = frozenset()


def serve(address: str, num_processes: int, tls: Tls | None) -> None:
    """Start JAX's coordinator in this process, at exactly this address."""
    distributed.global_state.service = _jax.get_distributed_runtime_service(
        address,
        num_processes,
        heartbeat_timeout=_MONTH_S,
        shutdown_timeout=1,
        **_certificates(tls),
    )


def join(
    address: str,
    index: int,
    num_processes: int,
    *,
    own_host: str,
    timeout_s: float,
    tls: Tls | None,
) -> None:
    """Connect this process to JAX's coordinator, before JAX has started its devices."""
    state = distributed.global_state
    client = state.client = _jax.get_distributed_runtime_client(
        address,
        index,
        init_timeout=max(1, int(timeout_s)),
        heartbeat_timeout=_MONTH_S,
        shutdown_timeout=1,
        shutdown_on_destruction=False,
        use_compression=True,
        **_certificates(tls),
    )
    state.process_id, state.num_processes = index, num_processes
    state.coordinator_address = address
    client.connect()
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    xla_bridge.register_backend_factory(
        "cpu", lambda: _cpu_client(own_host), priority=0, fail_quietly=False
    )


def is_joined() -> bool:
    """Whether this process has connected, by us or by `jax.distributed.initialize`."""
    return distributed.global_state.client is not None


def _cpu_client(own_host: str) -> Any:
    """Let Gloo listen where others reach this process, and nowhere else."""
    global _gloo_doors
    before = sockets().doors
    collectives = _jax.make_gloo_tcp_collectives(
        distributed_client=distributed.global_state.client, hostname=secluded(own_host)
    )
    _gloo_doors = sockets().doors - before
    return xla_bridge.make_cpu_client(collectives)


def gloo_doors() -> frozenset[str]:
    """Where Gloo listens in this process."""
    return _gloo_doors


def computes_on_cpus() -> bool:
    """Whether what the processes compute together goes through Gloo; starts the devices."""
    return jax.default_backend() == "cpu"


def exchange() -> None:
    """Compute one number with all other processes."""
    mesh = Mesh(np.array(jax.devices()), "all")
    ones = jax.make_array_from_callback(
        (mesh.size,), NamedSharding(mesh, PartitionSpec("all")), lambda _: np.ones(1, np.float32)
    )
    total = jax.jit(lambda each: each.sum(), out_shardings=NamedSharding(mesh, PartitionSpec()))
    assert float(np.asarray(total(ones).addressable_data(0))) == mesh.size


def forget_meeting() -> None:
    """Make JAX's coordinator forget where the processes are; one process does so for all."""
    client = distributed.global_state.client
    assert client is not None, "this process has joined"
    for kept in ("gloo", "global_topology", "local_topology"):
        client.key_value_delete(f"cpu:{kept}")


def stop_devices() -> None:
    """Let JAX start its devices anew when they are next asked for."""
    clear_backends()


def check(tls: Tls | None) -> None:
    """Refuse certificates that this JAX cannot use, or that are not there."""
    if tls is None:
        return
    if "mtls_cert_file" not in (_jax.get_distributed_runtime_service.__doc__ or ""):
        raise ClusterError(
            explain(
                "This JAX cannot protect its coordinator with certificates.",
                got=f"JAX {jax.__version__} and CommunicationOptions(tls=…)",
                fix="install JAX 0.12 or later, or leave the certificates out.",
            )
        )
    for name in ("certificate", "key", "authority"):
        path = Path(getattr(tls, name))
        if not path.is_file():
            raise ClusterError(
                explain(
                    "A file with a certificate or key is not there.",
                    got=f"Tls({name}={str(path)!r})",
                    fix="pass the paths of PEM files on this machine.",
                )
            )


def _certificates(tls: Tls | None) -> dict[str, str]:
    if tls is None:
        return {}
    return {
        "mtls_cert_file": str(tls.certificate),
        "mtls_key_file": str(tls.key),
        "mtls_ca_file": str(tls.authority),
    }
