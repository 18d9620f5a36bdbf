"""Every test process has eight virtual CPU devices; plain Keras uses the first of them."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from pathlib import Path

QUICK_TO_COMPILE = (
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true "
    "--xla_cpu_parallel_codegen_split_count=1"
)
if version("jaxlib").startswith("0.10."):  # a later XLA ends the process at a flag it has no more
    QUICK_TO_COMPILE += " --xla_cpu_use_fusion_emitters=false"
"""Small models compile longer than they run; what they compute does not change.

The last one alone makes it three times as quick.  With XLA_FLAGS="" they are left out: see
tests/equality/test_production_flags.py.
"""
if "cuda" not in os.environ.get("JAX_PLATFORMS", ""):
    os.environ.setdefault("XLA_FLAGS", QUICK_TO_COMPILE)  # for this process and those it starts

# The programs that tests start must not compile all our files each time.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

import manyhands as mh  # noqa: E402

mh.config.set_virtual_devices(8)

import jax  # noqa: E402
import keras  # noqa: E402
import pytest  # noqa: E402
from keras.src.backend.common import dtypes  # noqa: E402

from tests import durations  # noqa: E402

CACHE = Path(__file__).parents[1] / ".cache" / "xla"
WORTH_KEEPING_S = 0.05
"""What compiles longer is kept in the cache, for the other worker, other programs, the next run."""


pytest_addoption = durations.pytest_addoption
pytest_collection_modifyitems = durations.pytest_collection_modifyitems


def pytest_configure(config: pytest.Config) -> None:
    durations.pytest_configure(config)
    jax.config.update("jax_default_device", jax.devices("cpu")[0])  # also where there is a GPU
    CACHE.mkdir(mode=0o700, parents=True, exist_ok=True)
    jax.config.update("jax_compilation_cache_dir", str(CACHE))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", WORTH_KEEPING_S)
    # for the programs that tests start:
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(CACHE)
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = str(WORTH_KEEPING_S)


def pytest_report_header() -> str:
    return f"XLA_FLAGS: {os.environ.get('XLA_FLAGS') or 'none'}"


@pytest.fixture
def float64(monkeypatch):
    """Compute in float64, so that a wrong factor cannot hide in rounding.

    Keras 3.15 on JAX turns float64 into float32 inside BatchNormalization, LayerNormalization and
    `ops.var`: there even two runs of plain Keras that sum in another order differ by 1e-7. So the
    table that does this is changed here, for the oracle and for us alike.
    """
    jax.config.update("jax_enable_x64", True)
    monkeypatch.setitem(dtypes.BIT64_TO_BIT32_DTYPE, "float64", "float64")
    keras.config.set_floatx("float64")
    keras.config.set_dtype_policy("float64")
    yield
    keras.config.set_dtype_policy("float32")
    keras.config.set_floatx("float32")
    jax.config.update("jax_enable_x64", False)
    monkeypatch.undo()


@pytest.fixture(autouse=True)
def fresh_names():
    """Give every test the same automatic layer names, and no leftover state."""
    yield
    keras.utils.clear_session(free_memory=False)
