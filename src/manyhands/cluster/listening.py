"""Where process 0 listens: as privately as the cluster's address allows.

In: host:port.  Out: a socket bound to that address alone, to everything only where the address is
not this machine's own (behind a container's NAT).
"""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import secrets
import socket

from manyhands.cluster.spec import split_address
from manyhands.errors import ClusterError, explain, warn

_BACKLOG = 512


def listen(address: str) -> socket.socket:
    """Listen at an address; a taken port is named."""
    host, port = split_address(address)
    assert port is not None, "addresses are checked where they are read"
    family, place = _resolved(host, port)
    for bound in (place, ("::" if family == socket.AF_INET6 else "0.0.0.0", port)):
        server = socket.socket(family, socket.SOCK_STREAM)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            server.bind(bound)
            server.listen(_BACKLOG)
        except OSError as error:
            server.close()
            if error.errno == errno.EADDRNOTAVAIL and bound == place:
                continue
            raise _taken(address, error) from error
        return server
    raise _taken(address, OSError("no address to listen at"))


def is_exposed(host: str) -> bool:
    """Whether others than this machine and its private network can reach an address."""
    try:
        found = ipaddress.ip_address(host.split("%")[0])
    except ValueError:
        return False
    return found.is_unspecified or not (found.is_loopback or found.is_private)


def warn_if_exposed(host: str, *, secret: bool) -> None:
    """Say so when strangers can reach the coordinator."""
    if is_exposed(host) and not secret:
        warn(
            f"The coordinator listens on {host}, where anyone who reaches it can join the "
            "training. Use a private address for process 0; set MANYHANDS_TOKEN to one secret on "
            "all processes; and give JAX's coordinator certificates "
            "(CommunicationOptions(tls=…)) where the network is not your own."
        )


def secluded(host: str) -> str:
    """Give another address of this machine alone for a loopback address, where there are others.

    Whoever tries the ports of 127.0.0.1 does not find what listens there.
    """
    if not host.startswith("127."):
        return host
    chosen = (
        f"127.{1 + secrets.randbelow(254)}.{secrets.randbelow(256)}.{1 + secrets.randbelow(254)}"
    )
    try:
        with socket.socket() as probe:
            probe.bind((chosen, 0))
    except OSError:  # not every system has them
        return host
    return chosen


def free_port(host: str) -> int:
    """Find a port that nobody uses."""
    family, place = _resolved(host, 0)
    with contextlib.closing(socket.socket(family, socket.SOCK_STREAM)) as probe:
        probe.bind(place)
        return probe.getsockname()[1]


def _resolved(host: str, port: int) -> tuple[socket.AddressFamily, tuple]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise ClusterError(
            explain(
                "The coordinator's name is not known here.",
                got=f"{host} ({error})",
                fix="use an address that every process can resolve, such as its IP.",
            )
        ) from error
    chosen = next((one for one in found if one[0] == socket.AF_INET), found[0])
    return chosen[0], chosen[4][:2]


def _taken(address: str, error: OSError) -> ClusterError:
    return ClusterError(
        explain(
            "Process 0 cannot listen at its address.",
            got=f"{address}: {error.strerror or error}",
            fix="end the program that uses the port, or choose another port for the first task.",
        )
    )
