"""Differentiate the expressions of gradients.tsv, once and twice, where functions have corners.

python differentiate.py > gradients.json                facts, recorded with TensorFlow itself
manyhands run differentiate.py                          what manyhands gives
"""

import json
from pathlib import Path

import numpy as np
import tensorflow as tf

results = {}
for line in (Path(__file__).parent / "gradients.tsv").read_text().splitlines():
    name, at, expression = line.split("\t")
    x = tf.constant([-1.0, 0.0, 1.0])
    x = eval(at)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            given = eval(expression)
        first = inner.gradient(given, x)
    second = outer.gradient(first, x)
    results[name] = [
        None if part is None else np.asarray(part).astype("float64").ravel().tolist()
        for part in (given, first, second)
    ]
print(json.dumps(results, indent=None, separators=(",", ":")))
