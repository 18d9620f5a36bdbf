"""A forked program finds the world as one that Python has just started, and ends as it does."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys

import pytest

from tests.forking import can_fork
from tests.programs import environment, start

pytestmark = pytest.mark.skipif(
    not can_fork(["-c", ""], environment()), reason="forks are for CPUs under Linux"
)

TELLS = """
import json, os, signal, sys, threading
heavy = {"jax", "jaxlib", "keras", "numpy", "scipy", "h5py", "rich", "manyhands", "tests"}
told = {
    "modules": sorted(heavy & {name.split(".")[0] for name in sys.modules}),
    "names": [__name__, __package__, str(__spec__ and __spec__.name), globals().get("__file__")],
    "argv": sys.argv,
    "path": sys.path,
    "folder": os.getcwd(),
    "environ": dict(os.environ),
    "signals": [str(signal.getsignal(n)) for n in (2, 13, 15, 17)],
    "files": [[f.encoding, f.errors, f.line_buffering, f.write_through, f.fileno(), f.isatty()]
              for f in (sys.stdin, sys.stdout, sys.stderr)],
    "input": sys.stdin.read(),
    "threads": threading.active_count(),
    "open": len(os.listdir("/proc/self/fd")),
    "bytecode": sys.dont_write_bytecode,
}
import jax
told["after jax"] = sorted(heavy & {name.split(".")[0] for name in sys.modules})
told["settings"] = {name: str(value) for name, value in jax.config.values.items()}
import manyhands, keras, rich
told["after keras"] = [keras.backend.backend(), keras.config.floatx(), rich.__spec__.origin]
told["devices"] = [str(device) for device in jax.devices()]
told["environ at the end"] = dict(os.environ)
told["specs"] = [jax.__spec__.origin, keras.__spec__.origin, jax.numpy.__spec__.origin]
print(json.dumps(told))
"""
SETTINGS = [
    {"JAX_PLATFORMS": "cpu", "MANYHANDS_DEVICES": "3", "JAX_ENABLE_X64": "true"},
    {"JAX_NUM_CPU_DEVICES": "2", "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"},
    {"KERAS_BACKEND": "jax", "KERAS_FLOATX": "float64", "JAX_LOG_COMPILES": "0"},
]


def both(command, **more):
    """Run a command as a fresh start and as a fork."""
    found = []
    for fresh in (True, False):
        running = start(command, environment(**more), fresh=fresh)
        assert isinstance(running, subprocess.Popen) == fresh
        out, err = running.communicate(timeout=120)
        found.append((running.returncode, out, err))
    return found


@pytest.fixture(autouse=True)
def hears_ctrl_c():
    """Begin as in a terminal: what runs in the background of a shell may ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("more", SETTINGS, ids=lambda more: next(iter(more)))
@pytest.mark.parametrize("form", ["-c", "-m", "script"])
def test_it_finds_the_same_world(tmp_path, form, more):
    (tmp_path / "program_that_tells.py").write_text(TELLS)
    more = more | {"PYTHONPATH": f"{environment()['PYTHONPATH']}:{tmp_path}"}
    command = {
        "-c": ["-c", TELLS],
        "-m": ["-m", "program_that_tells"],
        "script": [str(tmp_path / "program_that_tells.py")],
    }[form]
    fresh, forked = both([*command, "--an", "argument"], **more)
    assert (fresh[0], forked[0]) == (0, 0), fresh[2] + forked[2]
    assert json.loads(forked[1]) == json.loads(fresh[1])
    assert forked[2] == fresh[2]


TOGETHER = """
import jax.numpy, jax.experimental.sparse, manyhands, keras, numpy, sys
assert jax.numpy.zeros.__module__ == sys.modules["jax.numpy"].zeros.__module__
assert isinstance(numpy.random.rand(3), numpy.ndarray)
assert isinstance(keras.ops.ones(3), jax.Array) and jax.Array is sys.modules["jax"].Array
assert jax.__dict__ is sys.modules["jax"].__dict__ and keras.Model is sys.modules["keras"].Model
for name in ("numpy", "jax", "keras", "jaxlib", "ml_dtypes"):
    assert sys.modules[name].__spec__.loader is not sys.meta_path[0], name
print(keras.ops.sum(keras.ops.ones(3)), numpy.linalg.det(numpy.eye(2)))
"""


@pytest.mark.parametrize("first", ["numpy", "numpy.random", "scipy.linalg", "jaxlib", "keras.ops"])
def test_packages_come_in_any_order(first):
    fresh, forked = both(["-c", f"import {first}\n{TOGETHER}"], KERAS_BACKEND="jax")
    assert fresh[0] == 0, fresh[2]
    assert forked == fresh


ENDS = {
    "a number": "import sys; sys.exit(7)",
    "words": "import sys; sys.exit('words')",
    "an error": "def f():\n    raise ValueError('as asked')\nf()",
    "an error in JAX": "import jax\njax.numpy.ones(3) @ jax.numpy.ones(4)",
    "nonsense": "def (",
    "Ctrl-C": "raise KeyboardInterrupt",
    "a signal": "import os; print('not seen', end=''); os.kill(os.getpid(), 9)",
    "an abort": "import os; os.abort()",
    "at once": "import os; print('lost'); os._exit(3)",
    "flags that XLA does not know": "import os; os.environ['XLA_FLAGS'] = '--nonsense'\n"
    "import jax\nprint(os.environ['XLA_FLAGS'], flush=True)\njax.numpy.ones(3)",
    "late": "import atexit, threading, time\natexit.register(print, 'last')\n"
    "threading.Thread(target=lambda: (time.sleep(0.2), print('thread'))).start()\nprint('first')",
    "a hook": "import sys; sys.excepthook = lambda *error: print('hooked', error[0])\n1 / 0",
}


@pytest.mark.parametrize("end", ENDS)
def test_it_ends_in_the_same_way(end):
    fresh, forked = both(["-c", ENDS[end]], JAX_PLATFORMS="cpu")
    if "XLA" in end:  # a line with the time, and the number of the process
        fresh, forked = ((code, out, err[-40:]) for code, out, err in (fresh, forked))
    fresh, forked = ((code, out, _without_lines(err)) for code, out, err in (fresh, forked))
    assert forked == fresh


def _without_lines(traceback):
    """From Python 3.13 on the lines of `-c` are shown, where Python has read them itself."""
    return re.sub(r'(  File "<string>", line .*\n)(?:    .*\n)+', r"\1", traceback)


def test_no_two_have_the_same_chance():
    source = "import random, numpy; print(random.random(), numpy.random.random(), hash('a'))"
    running = [start(["-c", source], environment()) for _ in range(2)]
    one, other = (each.communicate(timeout=60)[0].split() for each in running)
    assert not set(one) & set(other)


def test_who_waits_too_long_may_end_it():
    running = start(["-c", "import time; print('on', flush=True); time.sleep(99)"], environment())
    assert running.stdout is not None
    assert running.stdout.readline() == "on\n"
    with pytest.raises(subprocess.TimeoutExpired):
        running.communicate(timeout=0.1)
    assert running.poll() is None
    running.kill()
    assert running.wait(10) == -9
    assert running.communicate() == ("", "")


def test_only_openblas_has_threads_before_the_fork():
    source = """
import os
from tests.forking.hidden import Hidden
Hidden()
print(len(os.listdir("/proc/self/task")))
"""
    paths = {"PYTHONPATH": f"{environment()['PYTHONPATH']}:{sys.path[0]}"}
    env = environment(OPENBLAS_NUM_THREADS="1", **paths)
    running = start(["-c", source], env, fresh=True)
    assert running.communicate(timeout=60)[0] == "1\n"
