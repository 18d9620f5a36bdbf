"""The same numbers with the code that users run: compiled without the tests' own flags.

The suite is compiled in quicker ways (`QUICK_TO_COMPILE` in tests/conftest.py). So some of its
tests of equality run here once more, as they are, in a pytest whose XLA is told nothing.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EQUAL = "tests/equality/test_models.py::test_many_devices_equal_one"
FLOAT32 = "tests/equality/test_devices_and_dtypes.py::test_float32"
LOOP = "tests/strategies/test_custom_loops.py::test_a_loop_equals_keras_on_one_device"
CHOSEN = {
    "fit": [f"{EQUAL}[mlp-3]", f"{EQUAL}[cnn_batchnorm-3]", f"{FLOAT32}[mlp]"],
    "loops": [f"{LOOP}[4-7-mean]", f"{LOOP}[3-30-by hand]", f"{EQUAL}[own_steps-8]"],
}


@pytest.mark.skipif("cuda" in os.environ.get("JAX_PLATFORMS", ""), reason="no flags are given")
@pytest.mark.parametrize("what", sorted(CHOSEN))
def test_equality_as_users_compile(what):
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [*(sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider"), *CHOSEN[what]],
        cwd=ROOT,
        env=ours | {"XLA_FLAGS": ""},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert "XLA_FLAGS: none" in done.stdout
    passed = re.search(r"(\d+) passed in", done.stdout)
    assert passed is not None, done.stdout[-1000:]
    assert int(passed[1]) >= len(CHOSEN[what])
