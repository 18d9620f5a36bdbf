"""The same on 1, 2 and 4 devices, and in the dtypes people train in.

Tolerances: float32 sums in another order, 2e-5; bfloat16 has 8 bits, so its sums differ by up to
2 percent after six steps, on one device as well as on many.
"""

from __future__ import annotations

import functools

import keras
import pytest

from tests.equality.cases import BY_NAME
from tests.oracle import assert_same, train

CORE = [
    "mlp",
    "cnn_batchnorm",
    "random_layers",
    "many_in_many_out",
    "stateful_metrics",
    "own_steps",
]


@functools.cache
def plain(name):
    return train(BY_NAME[name], None)


@pytest.mark.parametrize("num_devices", [1, 2, 4])
@pytest.mark.parametrize("name", CORE)
@pytest.mark.usefixtures("float64")
def test_float64(name, num_devices):
    assert_same(train(BY_NAME[name], num_devices), plain(name), rtol=1e-9)


@pytest.mark.parametrize("name", ["mlp", "cnn_batchnorm", "transformer", "lstm"])
def test_float32(name):
    case = BY_NAME[name]
    assert_same(train(case, 4), train(case, None), rtol=2e-5)


@pytest.mark.parametrize(("policy", "rtol"), [("mixed_bfloat16", 2e-2), ("mixed_float16", 2e-3)])
@pytest.mark.parametrize("name", ["mlp", "cnn_batchnorm"])
def test_mixed_precision(name, policy, rtol):
    keras.config.set_dtype_policy(policy)
    try:
        case = BY_NAME[name]
        assert_same(train(case, 4), train(case, None), rtol=rtol)
    finally:
        keras.config.set_dtype_policy("float32")
