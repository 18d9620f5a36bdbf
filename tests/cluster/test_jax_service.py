"""What JAX's private names promise us: fails when a new JAX changes what we use of it."""

from __future__ import annotations

import inspect
import subprocess

import jax
import pytest
from jax._src import distributed, xla_bridge
from jax._src.lib import _jax

from manyhands.cluster import Tls, jax_service
from manyhands.errors import ClusterError
from tests.cluster.groups import launched

HAS_TLS = "mtls_cert_file" in (_jax.get_distributed_runtime_service.__doc__ or "")


def test_the_names_are_there():
    service = _jax.get_distributed_runtime_service.__doc__ or ""
    client = _jax.get_distributed_runtime_client.__doc__ or ""
    for name in ("heartbeat_timeout", "shutdown_timeout"):
        assert name in service
        assert name in client
    for name in ("init_timeout", "shutdown_on_destruction", "use_compression"):
        assert name in client
    gloo = _jax.make_gloo_tcp_collectives.__doc__ or ""
    assert "distributed_client" in gloo
    assert "hostname" in gloo
    assert "collectives" in inspect.signature(xla_bridge.make_cpu_client).parameters
    for name in ("name", "factory", "priority", "fail_quietly"):
        assert name in inspect.signature(xla_bridge.register_backend_factory).parameters
    for name in ("client", "service", "process_id", "num_processes", "coordinator_address"):
        assert hasattr(distributed.global_state, name)


LISTENS = """
import manyhands as mh
group = mh.MultiWorkerMirroredStrategy().group
import jax, psutil
jax.devices()
group.agree("that all listen", True)
ours = psutil.Process().net_connections()
places = {one.laddr.ip.removeprefix("::ffff:") for one in ours if one.status == "LISTEN"}
print("at", all(place.startswith("127.") for place in places), len(places))
group.agree("that all have looked", True)
"""


def test_everything_listens_on_loopback_alone(tmp_path):
    done = launched(tmp_path, LISTENS, "--no-shim", "--processes", "2")
    assert {"[0] at True 2", "[1] at True 1"} <= set(done.stdout.splitlines()), done.stderr


ANEW = """
import manyhands as mh
group = mh.MultiWorkerMirroredStrategy().group
from manyhands.cluster import jax_service
before = jax_service.gloo_doors()
for _ in range(2):
    if group.index == 0:
        jax_service.forget_meeting()
    group.agree("anew", 0)
    jax_service.stop_devices()
    jax_service.exchange()
print("met again", len(before), before != jax_service.gloo_doors())
"""


def test_devices_can_be_started_anew(tmp_path):
    done = launched(tmp_path, ANEW, "--no-shim", "--processes", "2")
    assert done.stdout.count("met again 1 True") == 2, done.stdout + done.stderr


@pytest.fixture
def certificates(tmp_path):
    """An authority, and a certificate for this machine that it signed."""
    extension = tmp_path / "extension"
    extension.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    new_key = ["-newkey", "rsa:2048", "-nodes", "-subj"]
    for command in (
        ["req", "-x509", *new_key, "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem"],
        ["req", *new_key, "/CN=localhost", "-keyout", "own.key", "-out", "own.csr"],
        ["x509", "-req", "-in", "own.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"]
        + ["-extfile", str(extension), "-out", "own.pem"],
    ):
        try:
            subprocess.run(["openssl", *command], cwd=tmp_path, check=True, capture_output=True)
        except FileNotFoundError:
            pytest.skip("openssl is not here to make certificates")
    return Tls(
        certificate=tmp_path / "own.pem", key=tmp_path / "own.key", authority=tmp_path / "ca.pem"
    )


PROTECTED = """
import os, sys, manyhands as mh
folder, who = sys.argv[1:]
has = who == "all" or os.environ["MANYHANDS_PROCESS_INDEX"] == "0"
paths = {"certificate": "own.pem", "key": "own.key", "authority": "ca.pem"}
tls = mh.cluster.Tls(**{name: f"{folder}/{path}" for name, path in paths.items()}) if has else None
options = mh.CommunicationOptions(tls=tls)
strategy = mh.MultiWorkerMirroredStrategy(communication_options=options)
import jax
print("together", jax.device_count())
"""


@pytest.mark.skipif(not HAS_TLS, reason=f"JAX {jax.__version__} has no mTLS")
@pytest.mark.usefixtures("certificates")
def test_certificates_protect_the_coordinator(tmp_path):
    options = ["--no-shim", "--processes", "2", "--timeout", "10"]
    done = launched(tmp_path, PROTECTED, *options, arguments=[str(tmp_path), "all"])
    assert done.stdout.count("together 2") == 2, done.stdout + done.stderr
    done = launched(tmp_path, PROTECTED, *options, arguments=[str(tmp_path), "first"])
    assert done.returncode
    assert "together" not in done.stdout


@pytest.mark.skipif(HAS_TLS, reason=f"JAX {jax.__version__} has mTLS")
def test_a_jax_without_them_is_named(certificates):
    with pytest.raises(ClusterError, match=rf"JAX {jax.__version__}.*\n.*install JAX 0\.12"):
        jax_service.check(certificates)


@pytest.mark.skipif(not HAS_TLS, reason=f"JAX {jax.__version__} has no mTLS")
def test_a_file_that_is_not_there_is_named(tmp_path):
    tls = Tls(certificate=tmp_path / "a", key=tmp_path / "b", authority=tmp_path / "c")
    with pytest.raises(ClusterError, match="not there"):
        jax_service.check(tls)
