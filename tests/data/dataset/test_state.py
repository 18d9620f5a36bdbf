"""A position saved in one program is taken up in another."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from manyhands.data.dataset import Dataset, TFRecordWriter
from manyhands.errors import DataError

PROGRAM = """
import json, sys
import keras, numpy as np
from manyhands.data.dataset import Dataset, TFRecordDataset

def noise(x):
    return x + keras.random.randint((), 0, 1000)

def number(record):
    return np.int32(int(record))

def arrays():
    rows = np.arange(50, dtype=np.int32)
    dataset = Dataset.from_tensor_slices(rows).shuffle(20).map(noise).cache()
    return dataset.shuffle(50).repeat().batch(7).prefetch(2)

def files():
    dataset = TFRecordDataset(sys.argv[1:3], num_parallel_reads=2).map(number, num_parallel_calls=2)
    return dataset.shuffle(8).repeat(3).map(noise).batch(4).prefetch(1)

def cached():
    dataset = TFRecordDataset(sys.argv[1:3]).map(number).map(noise).cache(sys.argv[3])
    return dataset.shuffle(9).repeat(4).batch(4)

found = {}
for name, state in json.loads(sys.stdin.read()).items():
    rows = iter({"arrays": arrays, "files": files, "cached": cached}[name]())
    if state:
        rows.set_state(state)
    else:
        for _ in range(11):
            next(rows)
    found[name] = [rows.get_state(), [next(rows).tolist() for _ in range(12)]]
print(json.dumps(found))
"""


def import_paths():
    """Where this test's own imports come from, in words that hold in any folder."""
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    own = Path(__file__).parents[3] / "src"
    return [str(Path(path).resolve()) for path in (own, *filter(None, given))]


@pytest.fixture
def program(tmp_path):
    paths = []
    for name in ("a", "b"):
        with TFRecordWriter(tmp_path / name) as writer:
            for number in range(15):
                writer.write(str(number + (100 if name == "b" else 0)).encode())
        paths.append(str(tmp_path / name))
    (tmp_path / "program.py").write_text(PROGRAM)

    def run(given: dict) -> dict:
        done = subprocess.run(
            [sys.executable, tmp_path / "program.py", *paths, str(tmp_path / "cache")],
            input=json.dumps(given),
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env={
                "KERAS_BACKEND": "jax",
                "PATH": "",
                "JAX_PLATFORMS": "cpu",
                "PYTHONPATH": os.pathsep.join(import_paths()),
            },
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.strip().splitlines()[-1])

    return run


def test_another_program_goes_on_exactly(program):
    first = program(dict.fromkeys(["arrays", "files", "cached"]))
    assert all(state["position"] == 11 for state, _ in first.values())
    assert program({name: state for name, (state, _) in first.items()}) == first


def test_skipping_to_a_position_calls_no_map_function():
    calls = []

    def opaque(x):
        calls.append(int(x))
        return x

    dataset = Dataset.range(1000).map(opaque).batch(10)
    going = iter(dataset)
    for _ in range(90):
        next(going)
    state = going.get_state()
    calls.clear()
    restored = iter(Dataset.range(1000).map(opaque).batch(10))
    restored.set_state(state)
    np.testing.assert_array_equal(next(restored), np.arange(900, 910))
    assert len(calls) < 20


def test_a_position_of_another_pipeline_is_refused():
    state = iter(Dataset.range(10).batch(2)).get_state()
    with pytest.raises(DataError, match="as it was built"):
        iter(Dataset.range(10).batch(3)).set_state(state)
    state["position"] = 9
    with pytest.raises(DataError, match="with the data it was saved with"):
        iter(Dataset.range(10).batch(2)).set_state(state)
    with pytest.raises(DataError, match="another pipeline"):
        iter(Dataset.range(10).batch(2)).set_state({})


def test_a_position_at_the_very_end():
    rows = iter(Dataset.range(4).shuffle(2, seed=1))
    list(rows)
    restored = iter(Dataset.range(4).shuffle(2, seed=1))
    restored.set_state(rows.get_state())
    assert list(restored) == []
