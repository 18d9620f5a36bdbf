"""`manyhands check` and `manyhands run`, on programs that import tensorflow."""

from __future__ import annotations

import json
import subprocess
import sys

from manyhands.tf.names_used import names_used

PROGRAM = """
import tensorflow as tf
from tensorflow.keras import layers
import tensorflow.keras.backend as K
from tensorflow import data as d

model = layers.Dense(3)
x = tf.nn.relu(tf.zeros([2]))
t = tf.lookup.StaticHashTable
s = tf.distribute.TPUStrategy()
y = tf.py_function(print, [], [])
z = other.tf.nothing
k = tf.keras
k.layers.NoSuchLayer
e = tf.data.Dataset.range(3).scan
r = tf.data.Dataset.random(4)
v = layers.TextVectorization()
o = tf.keras.layers.experimental.preprocessing.StringLookup
tf.config.experimental.set_virtual_device_configuration
tf.lookup.StaticHashTable
"""


def test_check_finds_names_by_line():
    found = {(use.line, use.name): use.status for use in names_used(PROGRAM)}
    assert found[(7, "tf.keras.layers.Dense")] == "supported"
    assert found[(8, "tf.nn.relu")] == "supported"
    assert found[(9, "tf.lookup.StaticHashTable")] == "missing"
    assert found[(10, "tf.distribute.TPUStrategy")] == "missing"
    assert found[(11, "tf.py_function")] == "translated"
    assert found[(14, "tf.keras.layers.NoSuchLayer")] == "missing"
    assert found[(15, "tf.data.Dataset.range")] == "supported"
    assert found[(16, "tf.data.Dataset.random")] == "missing"
    assert found[(17, "tf.keras.layers.TextVectorization")] == "missing"
    assert not [name for _, name in found if "nothing" in name]


def manyhands(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "manyhands.cli.main", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_check_shows_first_what_needs_a_look(tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM)
    shown = manyhands("check", str(tmp_path / "train.py")).stdout
    assert "tf.nn.relu" not in shown
    assert "supported uses are not shown; --all shows them." in shown
    assert "tf.lookup.StaticHashTable  lines 9, 20\n" in shown
    assert "  tf.config.experimental.set_virtual_device_configuration  line 19\n" in shown
    assert shown.index("tf.data.Dataset.random") < shown.index("tf.py_function")
    shown = manyhands("check", "--all", str(tmp_path / "train.py")).stdout
    assert "supported  tf.nn.relu  line 8" in shown
    assert "not shown" not in shown


def test_check_from_the_command_line(tmp_path):
    good, bad, worse = tmp_path / "good.py", tmp_path / "bad.py", tmp_path / "worse.py"
    good.write_text("import tensorflow as tf\nprint(tf.zeros([1]))\nraise SystemExit(9)\n")
    bad.write_text(PROGRAM)
    worse.write_text("def (")
    assert manyhands("check", str(good)).returncode == 0
    done = manyhands("check", "--json", str(bad))
    assert done.returncode == 1
    found = json.loads(done.stdout)[str(bad)]
    assert {"line": 9, "name": "tf.lookup.StaticHashTable", "status": "missing"}.items() <= next(
        use for use in found if use["line"] == 9
    ).items()
    done = manyhands("check", str(worse))
    assert done.returncode == 1
    assert "line 1" in done.stderr
    assert "cannot be read" in manyhands("check", str(tmp_path / "none.py")).stderr


SCRIPT = """
import sys
import tensorflow as tf
import tensorflow.keras.layers as layers
from tensorflow.keras import Model
from tensorflow.keras.utils import to_categorical
import tensorflow.compat.v2 as tf2
print(sys.argv[1:], __name__, __file__.endswith("script.py"))
print(len(tf.config.list_logical_devices("CPU")), tf2 is tf, layers.Dense is tf.keras.layers.Dense)
try:
    import tensorflow.lookup
except ModuleNotFoundError as error:
    print("StringLookup" in str(error))
if "--fail" in sys.argv:
    raise tf.errors.InvalidArgumentError("as asked")
"""


def test_run_is_like_python(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = manyhands("run", "--devices", "3", str(script), "--epochs", "2", "--devices", "9")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "['--epochs', '2', '--devices', '9'] __main__ True",
        "3 True True",
        "True",
    ]
    done = manyhands("run", str(script), "--fail")
    assert done.returncode == 1
    assert "script.py" in done.stderr
    assert "as asked" in done.stderr
    assert "There is no such program" in manyhands("run", str(tmp_path / "none.py")).stderr
