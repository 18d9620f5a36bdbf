"""The spmd engine by itself: exact on any number of rows, and cheap where they do not divide."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manyhands.engine import SpmdEngine
from tests.engine.steps import PlainStep, on_cpus, shared_layout, split_layout


def step(state, batch):
    """Everything a batch can be reduced by: a mean, a variance, a sum of products, a maximum."""
    (weights,), x = state, batch["x"]
    centred = (x - x.mean(0)) / jnp.sqrt(x.var(0) + 1e-3)
    gradient = centred.T @ x
    logs = {"mean": x.mean(), "most": x.max(), "rows": jnp.asarray(float(x.shape[0]))}
    return logs, [weights - 0.1 * gradient]


def fresh():
    return [jnp.ones((3, 3))]


def compiled(function, state, layout):
    return SpmdEngine(layout).compile(PlainStep(function, state))


@settings(deadline=None, max_examples=12)
@given(num_rows=st.integers(1, 40), num_devices=st.sampled_from([1, 2, 3, 8]))
def test_any_number_of_rows_on_any_number_of_devices(num_rows, num_devices):
    x = np.random.default_rng(num_rows).normal(size=(num_rows, 3)).astype("float32")
    program = compiled(step, fresh(), on_cpus(num_devices))
    logs, state = program(program.place_state(fresh()), program.rows.place_batch({"x": x}))
    wanted_logs, wanted = step(fresh(), {"x": jnp.asarray(x)})
    np.testing.assert_allclose(state[0], wanted[0], rtol=2e-4, atol=2e-4)
    assert float(logs["rows"]) == num_rows
    np.testing.assert_allclose(logs["mean"], wanted_logs["mean"], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(logs["most"], wanted_logs["most"])


@pytest.mark.parametrize("num_rows", [16, 13])
def test_one_by_one_stacked_and_picked_are_the_same(num_rows):
    data = np.random.default_rng(0).normal(size=(60, 3)).astype("float32")
    rows = np.random.default_rng(1).permutation(60)[: 3 * num_rows].reshape(3, num_rows)
    program = compiled(step, fresh(), on_cpus(4))
    state = program.place_state(fresh())
    for line in rows:
        logs, state = program(state, program.rows.place_batch({"x": data[line]}))
    stacked = program.rows.place_stack({"x": data[rows]}, 3)
    logs_2, state_2 = program(program.place_state(fresh()), stacked)
    picks = program.rows.place_picks(program.rows.place_data({"x": data}), rows)
    logs_3, state_3 = program(program.place_state(fresh()), picks)
    for other_logs, other in ((logs_2, state_2), (logs_3, state_3)):
        np.testing.assert_allclose(other[0], state[0], rtol=1e-5)
        np.testing.assert_allclose(other_logs["mean"], logs["mean"], rtol=1e-5, atol=1e-7)


def test_a_batch_that_does_not_divide_costs_one_row_a_device():
    """127 rows on 8 devices: every device computes 16, not 127."""
    x = np.ones((127, 64), "float32")

    def matmul(state, batch):
        return {"sum": (batch @ jnp.ones((64, 32))).sum()}, state

    program = compiled(matmul, [], on_cpus(8))
    batch = program.rows.place_batch(x)
    assert (batch.spec.num_rows, batch.spec.padded_rows) == (127, 128)
    state = program.place_state([])
    text = program.text(state, batch)
    assert "f32[16,64]" in text
    assert "f32[127,64]" not in text


def test_a_buffer_that_stands_in_the_state_twice_is_copied():
    shared = jnp.ones(3)
    program = compiled(lambda state, batch: ({}, state), [shared, shared], on_cpus(2))
    state = program.place_state([shared, shared])
    _, after = program(state, program.rows.place_batch(np.ones((2, 1), "float32")))
    np.testing.assert_array_equal(after[0], after[1])


def test_xla_says_what_a_step_takes():
    program = compiled(step, fresh(), on_cpus(2))
    assert program.memory() is None
    program(
        program.place_state(fresh()), program.rows.place_batch({"x": np.ones((8, 3), "float32")})
    )
    memory = program.memory()
    assert memory.arguments_bytes >= 3 * 3 * 4 + 4 * 3 * 4
    assert memory.peak_bytes > 0


def test_parts_of_a_batch_that_are_not_rows_are_left_whole():
    def uses_both(state, batch):
        rows, table, number = batch
        return {"out": (rows @ table).sum() * number}, state

    program = compiled(uses_both, [], on_cpus(4))
    batch = (np.ones((6, 5), "float32"), np.ones((5, 2), "float32"), np.float32(3))
    placed = program.rows.place_batch(batch)
    assert placed.spec.carries_rows == (True, False, False)
    logs, _ = program(program.place_state([]), placed)
    assert float(logs["out"]) == 6 * 5 * 2 * 3
    assert jax.tree.leaves(placed.arrays)[1].shape == (5, 2)


@settings(deadline=None, max_examples=15)
@given(
    num_rows=st.integers(1, 30),
    shares=st.lists(st.integers(1, 4), min_size=2, max_size=4),
    splits_state=st.booleans(),
)
def test_any_shares_and_any_split_of_the_state(num_rows, shares, splits_state):
    x = np.random.default_rng(num_rows).normal(size=(3 * num_rows, 3)).astype("float32")
    rows = np.arange(3 * num_rows).reshape(3, num_rows)
    layout = split_layout(len(shares), shares) if splits_state else shared_layout(*shares)
    program, wanted = compiled(step, fresh(), layout), fresh()
    for line in rows:
        wanted_logs, wanted = step(wanted, {"x": jnp.asarray(x[line])})
    stacked = program.rows.place_stack({"x": x[rows]}, 3)
    picked = program.rows.place_picks(program.rows.place_data({"x": x}), rows)
    for batches in (stacked, picked):
        logs, state = program(program.place_state(fresh()), batches)
        np.testing.assert_allclose(state[0], wanted[0], rtol=2e-4, atol=2e-4)
        np.testing.assert_allclose(logs["mean"], wanted_logs["mean"], rtol=1e-5, atol=1e-6)
        assert float(logs["rows"]) == num_rows
    if splits_state and len(shares) == 3:
        assert state[0].addressable_shards[0].data.shape == (1, 3)


def test_shares_say_who_feeds_which_rows():
    rows = shared_layout(3, 1).rows
    assert rows.counts(8) == [6, 2]
    assert rows.counts(7) == [6, 1]
    assert rows.counts(2) == [2, 0]
    assert rows.padded(8) == 12
    spread = rows.spread(np.arange(7))
    np.testing.assert_array_equal(spread, [0, 1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(rows.cut(jnp.asarray(spread), 7), np.arange(7))
