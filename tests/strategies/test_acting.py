"""A step that acts leaves behind what calling it leaves behind, whatever it acts on."""

from __future__ import annotations

import sys
import threading
import types
import warnings

import keras
import numpy as np
import pytest

from tests.strategies.rows import X

ACTS = {
    "a new global": ("", "global LAST; LAST = x.sum()", "round(float(LAST), 4)"),
    "a count in a new global": (
        "",
        "global N\n  try: N += 1\n  except NameError: N = 1",
        "N",
    ),
    "a new attribute of a module": (
        "M = types.ModuleType('m'); sys.modules['m'] = M",
        "M.last = getattr(M, 'last', 0) + 1",
        "M.last",
    ),
    "a new attribute of a variable": (
        "V = keras.Variable(1.)",
        "V.last = getattr(V, 'last', 0) + 1",
        "V.last",
    ),
    "a layer's property": (
        "V = keras.layers.Dense(2); V.build((None, 3))",
        "V.trainable = not V.trainable",
        "V.trainable",
    ),
    "Keras' history": (
        "V = keras.callbacks.History(); V.on_train_begin()\nV.set_model(types.SimpleNamespace())",
        "V.on_epoch_end(len(V.epoch), {'a': 1.0})",
        "len(V.epoch)",
    ),
    "a warning": ("import warnings", "warnings.warn('w', UserWarning)", "0"),
    "NumPy's bits": ("V = np.random.PCG64(1)", "R.append(V.random_raw())", "R[-1]"),
    "NumPy's children": (
        "V = np.random.SeedSequence(1)",
        "R.append(V.spawn(1)[0].spawn_key)",
        "R[-1]",
    ),
    "a generator's children": (
        "V = np.random.default_rng(1)",
        "R.append(V.spawn(1)[0].normal())",
        "R[-1]",
    ),
    "reversed": ("V = reversed([1., 2., 3., 4., 5., 6.])", "R.append(next(V))", "R[-1]"),
    "matches": (
        "import re\nV = re.finditer('.', 'abcdef')",
        "R.append(next(V).group())",
        "R[-1]",
    ),
    "until": (
        "C = [0]\ndef f():\n  C[0] += 1\n  return C[0]\nV = iter(f, 100)",
        "R.append(next(V))",
        "R[-1]",
    ),
    "bytes": ("V = iter(bytearray(b'abcdef'))", "R.append(next(V))", "R[-1]"),
    "a digest": ("import hashlib\nV = hashlib.sha256()", "V.update(b'a')", "V.hexdigest()"),
    "a record": (
        "V = np.zeros(1, [('a', 'f4')])[0]",
        "V['a'] += 1",
        "float(V['a'])",
    ),
    "a lock": (
        "import threading\nV = threading.Lock()",
        "R.append(V.locked() or V.acquire() and 0)",
        "R[-1]",
    ),
    "a file through NumPy": (
        "import tempfile, os\nF = os.path.join(tempfile.mkdtemp(), 'a.npy')\n"
        "np.save(F, np.ones(2))",
        "a = np.load(F); np.save(F, a + 1)",
        "np.load(F).tolist()",
    ),
    "a file through JAX": (
        "import tempfile, os\nimport jax.numpy as jnp\n"
        "F = os.path.join(tempfile.mkdtemp(), 'a.npy')\nnp.save(F, np.ones(2))",
        "a = jnp.load(F); np.save(F, a + 1)",
        "np.load(F).tolist()",
    ),
    "weights from a file": (
        "import tempfile, os\nV = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])\n"
        "F = os.path.join(tempfile.mkdtemp(), 'a.weights.h5')\nV.save_weights(F)\n"
        "W = V.get_weights()[0]",
        "V.set_weights([W * 0 + 5, W[0] * 0]); V.load_weights(F)",
        "bool((V.get_weights()[0] == W).all())",
    ),
    "a profiler": (
        "import sys",
        "sys.setprofile(None); R.append(len(R))",
        "len(R)",
    ),
}


def acting(before: str, body: str, seen: str) -> types.ModuleType:
    module = sys.modules["acting_program"] = types.ModuleType("acting_program")
    source = (
        "import sys, types\nimport keras, numpy as np\nR = []\n"
        f"{before}\ndef step(x):\n  {body}\n  return x.sum()\ndef seen(): return {seen}\n"
    )
    exec(compile(source, "acting.py", "exec", dont_inherit=True), vars(module))
    return module


def outcome(act: str, call) -> list:
    """Give what is seen after each of four calls, in a program of its own."""
    keras.utils.set_random_seed(1)
    module = acting(*ACTS[act])
    found = []
    for _ in range(4):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            result = float(call(module.step))
        users = sum(w.category is UserWarning for w in said)
        found.append((module.seen(), users, pytest.approx(result, rel=1e-5)))
    sys.modules.pop("acting_program")
    return found


@pytest.mark.parametrize("act", ACTS)
def test_it_acts_as_calling_it_does(four, act):
    wanted = outcome(act, lambda step: step(X))
    assert outcome(act, lambda step: four.run(step, args=(X,))) == wanted


def test_the_order_of_a_dict_that_is_given(four):
    def step(given, **named):
        first = next(iter(given.values()))
        return first.sum() * 2 + next(iter(named.values()))

    a, b = X, X * 3
    for given in ({"a": a, "b": b}, {"b": b, "a": a}):
        for named in (
            {"u": np.float32(1), "v": np.float32(5)},
            {"v": np.float32(5), "u": np.float32(1)},
        ):
            found = four.run(step, args=(given,), kwargs=named)
            np.testing.assert_allclose(found, step(given, **named), rtol=1e-5)


def test_the_kind_of_a_key_that_is_given(four):
    def step(given):
        return sum(v.sum() * (1 if type(key) is int else 2) for key, v in given.items())

    for given in ({1: X}, {True: X}):
        np.testing.assert_allclose(four.run(step, args=(given,)), step(given), rtol=1e-5)


def test_a_number_of_a_class_of_its_own(four):
    class Rate(float):
        pass

    def step(x, rate):
        return x.sum() * rate.scale

    for scale in (1.0, 3.0):
        rate = Rate(2.0)
        rate.scale = scale
        np.testing.assert_allclose(four.run(step, args=(X, rate)), X.sum() * scale, rtol=1e-5)


def test_each_thread_has_its_own(four):
    local = threading.local()

    def step(x):
        return x.sum() * local.scale

    found = {}

    def run(scale):
        local.scale = scale
        found[scale] = [float(four.run(step, args=(X,))) for _ in range(2)]

    for scale in (1.0, 5.0, 2.0):
        thread = threading.Thread(target=run, args=(scale,))
        thread.start()
        thread.join()
    run(7.0)
    for scale, given in found.items():
        np.testing.assert_allclose(given, X.sum() * scale, rtol=1e-5)
