"""A tensor's dtype answers what TensorFlow's does; JAX goes on taking it for NumPy's."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import manyhands.tf as tf

CASES = [
    ("float32", True, False),
    ("bfloat16", True, False),
    ("int32", False, True),
    ("bool", False, False),
]


@pytest.mark.parametrize(("name", "floating", "integer"), CASES)
def test_a_tensors_dtype_answers(name: str, floating: bool, integer: bool) -> None:
    kind = tf.zeros([2], getattr(tf, name)).dtype
    assert (kind.is_floating, kind.is_integer, kind.is_bool) == (floating, integer, name == "bool")
    assert kind.base_dtype == getattr(tf, name)
    assert kind.as_numpy_dtype is jnp.dtype(name).type
    assert not kind.is_complex


def test_inside_of_a_step_too() -> None:
    seen = []

    @tf.function
    def step(x):
        seen.append((x.dtype.is_floating, x.dtype.max))
        return tf.cast(x, x.dtype.base_dtype)

    step(tf.constant([1.0]))
    assert seen == [(True, np.finfo("float32").max)]


def test_numpy_and_jax_see_their_own_dtype() -> None:
    kind = jnp.ones(2).dtype
    assert isinstance(kind, np.dtype)
    assert kind == np.float32
    assert jax.jit(lambda x: x + 1)(np.ones(2, kind)).dtype == kind


def test_a_part_of_a_variable_is_assigned() -> None:
    v = tf.Variable(np.zeros((3, 2), "float32"))
    v[0].assign([1.0, 2.0])
    v[1, 1].assign_add(5.0)
    v[:, 0].assign_sub(tf.constant([1.0, 1.0, 1.0]))
    v.scatter_nd_update([[2, 1]], [9.0])
    np.testing.assert_array_equal(v.numpy(), [[0, 2], [-1, 5], [-1, 9]])


def test_a_part_is_assigned_in_a_compiled_step() -> None:
    v = tf.Variable(np.zeros(3, "float32"))

    @tf.function
    def step(x):
        v[1].assign(x)
        v.scatter_nd_add([[2]], [x])

    step(tf.constant(4.0))
    np.testing.assert_array_equal(v.numpy(), [0, 4, 4])


def test_a_tensor_cannot_be_assigned() -> None:
    with pytest.raises(AttributeError, match=r"only a tf\.Variable"):
        tf.constant([1.0]).assign([2.0])
