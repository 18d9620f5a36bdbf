"""Evaluate the expressions of operations.tsv with whatever `tensorflow` is, and print JSON.

python evaluate.py > operations.json                    facts, recorded with TensorFlow itself
manyhands run evaluate.py                               what manyhands gives
"""

import json
from pathlib import Path

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
a = tf.constant(rng.randn(3, 4).astype("float32"))
b = tf.constant(rng.randn(3, 4).astype("float32"))
i = tf.constant([2, 0, 1])
img = tf.constant(rng.rand(2, 6, 5, 3).astype("float32"))


def described(value):
    array = np.asarray(value)
    kind = {"i": "int", "u": "uint", "f": "float", "b": "bool"}[array.dtype.kind]
    return [list(array.shape), kind, array.astype("float64").ravel().tolist()]


def letters(words):
    """The shape of a tensor of strings, and the bytes of each."""
    array = np.asarray(words, object)
    return [np.array(array.shape, int), *(np.frombuffer(one, "uint8") for one in array.ravel())]


results = {}
for line in (Path(__file__).parent / "operations.tsv").read_text().splitlines():
    name, expression = line.split("\t")
    results[name] = [described(part) for part in tf.nest.flatten(eval(expression))]
print(json.dumps(results, indent=None, separators=(",", ":")))
