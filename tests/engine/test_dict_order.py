"""Dicts come back in the order in which they were written."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, namedtuple

import jax
import jax.numpy as jnp
import pytest

import manyhands as mh
import manyhands.tf as tf
from manyhands.engine.dict_order import in_order, map_in_order, order_of

Pair = namedtuple("Pair", ["second", "first"])


def nested():
    return {
        "z": jnp.ones(4),
        "a": [{"y": 1.0, "b": jnp.zeros(2)}, ({"x": 2, "c": None},)],
        "m": Pair({"k": 1, "d": 2}, 3),
        "l": OrderedDict(z=1, y=2),
    }


def keys(structure):
    """Name every key, in order."""
    if isinstance(structure, dict):
        return [(key, keys(value)) for key, value in structure.items()]
    return [keys(value) for value in structure] if isinstance(structure, list | tuple) else []


def test_jax_sorts_and_we_do_not():
    sorted_by_jax = jax.tree.map(lambda leaf: leaf, nested())
    assert keys(sorted_by_jax) != keys(nested())
    found = in_order(order_of(nested()), sorted_by_jax)
    assert keys(found) == keys(nested())
    assert type(found["m"]) is Pair
    assert type(found["l"]) is OrderedDict
    assert keys(map_in_order(lambda leaf: leaf, nested())) == keys(nested())


def test_a_structure_without_dicts_is_left_alone():
    structure = [1, (2, [3])]
    assert order_of(structure) is None
    assert in_order(None, structure) is structure


def test_a_dict_with_a_default_keeps_it():
    found = map_in_order(lambda leaf: leaf + 1, defaultdict(list, z=1, a=2))
    assert list(found) == ["z", "a"]
    assert found["new"] == []


def test_a_function_gives_and_is_given_dicts_in_order():
    seen = []

    @tf.function
    def step(batch):
        seen.append(list(batch))
        return nested()

    assert keys(step({"q": jnp.ones(2), "e": jnp.ones(2)})) == keys(nested())
    assert seen == [["q", "e"]]


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("rows", [8, 6])
@pytest.mark.parametrize("asks", [False, True])
def test_so_does_a_step(count, rows, asks):
    strategy = mh.MirroredStrategy([f"cpu:{i}" for i in range(count)])

    def step(batch):
        total = jnp.sum(batch["q"])
        if asks:
            total = mh.get_replica_context().all_reduce("sum", {"w": total, "b": total})["w"]
        return {"z": total, "a": {key: total for key in batch}}  # noqa: C420

    given = strategy.run(step, args=({"q": jnp.ones(rows), "e": jnp.ones(rows)},))
    wanted = [("z", []), ("a", [("q", []), ("e", [])])]
    assert keys(given) == wanted
    assert keys(strategy.reduce("sum", given, axis=None)) == wanted


def test_a_step_that_runs_eagerly_gives_them_in_order():
    @tf.function
    def step(x):
        if float(x) > 0:
            return {"z": x, "a": x}
        return x

    with pytest.warns(UserWarning, match="runs eagerly"):
        assert list(step(jnp.ones(()))) == ["z", "a"]
