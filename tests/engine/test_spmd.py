"""The spmd engine by itself: exact on any number of rows, and cheap where they do not divide."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manyhands.devices import resolve
from manyhands.engine import Placement, SpmdProgram


def placement(num_devices):
    return Placement(resolve([f"cpu:{i}" for i in range(num_devices)]))


def step(state, batch):
    """Everything a batch can be reduced by: a mean, a variance, a sum of products, a maximum."""
    (weights,), x = state, batch["x"]
    centred = (x - x.mean(0)) / jnp.sqrt(x.var(0) + 1e-3)
    gradient = centred.T @ x
    logs = {"mean": x.mean(), "most": x.max(), "rows": jnp.asarray(float(x.shape[0]))}
    return logs, ([weights[0] - 0.1 * gradient],)


def fresh():
    return ([jnp.ones((3, 3))],)


@settings(deadline=None, max_examples=12)
@given(num_rows=st.integers(1, 40), num_devices=st.sampled_from([1, 2, 3, 8]))
def test_any_number_of_rows_on_any_number_of_devices(num_rows, num_devices):
    x = np.random.default_rng(num_rows).normal(size=(num_rows, 3)).astype("float32")
    program = SpmdProgram(step, placement(num_devices))
    logs, state = program(program.place_state(fresh()), program.place_batch({"x": x}))
    wanted_logs, wanted = step(fresh(), {"x": jnp.asarray(x)})
    np.testing.assert_allclose(state[0][0], wanted[0][0], rtol=2e-4, atol=2e-4)
    assert float(logs["rows"]) == num_rows
    np.testing.assert_allclose(logs["mean"], wanted_logs["mean"], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(logs["most"], wanted_logs["most"])


@pytest.mark.parametrize("num_rows", [16, 13])
def test_one_by_one_stacked_and_picked_are_the_same(num_rows):
    data = np.random.default_rng(0).normal(size=(60, 3)).astype("float32")
    rows = np.random.default_rng(1).permutation(60)[: 3 * num_rows].reshape(3, num_rows)
    program = SpmdProgram(step, placement(4))
    state = program.place_state(fresh())
    for line in rows:
        logs, state = program(state, program.place_batch({"x": data[line]}))
    stacked = program.place_stack({"x": data[rows]}, 3)
    logs_2, state_2 = program.many(program.place_state(fresh()), stacked)
    picks = program.place_picks(program.place_data({"x": data}), rows)
    logs_3, state_3 = program.many(program.place_state(fresh()), picks)
    for other_logs, other in ((logs_2, state_2), (logs_3, state_3)):
        np.testing.assert_allclose(other[0][0], state[0][0], rtol=1e-5)
        np.testing.assert_allclose(other_logs["mean"], logs["mean"], rtol=1e-5, atol=1e-7)


def test_a_batch_that_does_not_divide_costs_one_row_a_device():
    """127 rows on 8 devices: every device computes 16, not 127."""
    x = np.ones((127, 64), "float32")

    def matmul(state, batch):
        return {"sum": (batch @ jnp.ones((64, 32))).sum()}, state

    program = SpmdProgram(matmul, placement(8))
    batch = program.place_batch(x)
    assert (batch.layout.num_rows, batch.layout.padded_rows) == (127, 128)
    state = program.place_state(([],))
    text = program._one.lower(state, batch.arrays, batch.layout).compile().as_text()
    assert "f32[16,64]" in text
    assert "f32[127,64]" not in text


def test_a_buffer_that_stands_in_the_state_twice_is_copied():
    program = SpmdProgram(lambda state, batch: ({}, state), placement(2))
    shared = jnp.ones(3)
    state = program.place_state(([shared, shared],))
    _, after = program(state, program.place_batch(np.ones((2, 1), "float32")))
    np.testing.assert_array_equal(after[0][0], after[0][1])


def test_xla_says_what_a_step_takes():
    program = SpmdProgram(step, placement(2))
    assert program.memory() is None
    program(program.place_state(fresh()), program.place_batch({"x": np.ones((8, 3), "float32")}))
    memory = program.memory()
    assert memory.arguments_bytes >= 3 * 3 * 4 + 4 * 3 * 4
    assert memory.peak_bytes > 0


def test_parts_of_a_batch_that_are_not_rows_are_left_whole():
    def uses_both(state, batch):
        rows, table, number = batch
        return {"out": (rows @ table).sum() * number}, state

    program = SpmdProgram(uses_both, placement(4))
    batch = (np.ones((6, 5), "float32"), np.ones((5, 2), "float32"), np.float32(3))
    placed = program.place_batch(batch)
    assert placed.layout.carries_rows == (True, False, False)
    logs, _ = program(program.place_state(([],)), placed)
    assert float(logs["out"]) == 6 * 5 * 2 * 3
    assert jax.tree.leaves(placed.arrays)[1].shape == (5, 2)
