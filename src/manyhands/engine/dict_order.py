"""Dicts in the order in which they were written: JAX sorts their keys.

In: a structure, and what JAX made of it.  Out: the latter, its dicts in the order of the former.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

import jax

_DICTS = (dict, OrderedDict, defaultdict)


def order_of(structure: Any) -> Any:
    """Keep the order of the dicts in a structure, and nothing else; None where there are none."""
    if type(structure) in _DICTS:
        return {key: order_of(value) for key, value in structure.items()}
    if isinstance(structure, list | tuple):
        orders = [order_of(value) for value in structure]
        return orders if any(order is not None for order in orders) else None
    return None


def as_key(order: Any) -> Any:
    """Give an order as something that can be looked up."""
    if isinstance(order, dict):
        return tuple((type(key), key, as_key(inner)) for key, inner in order.items())
    return tuple(map(as_key, order)) if isinstance(order, list) else order


def in_order(order: Any, structure: Any) -> Any:
    """Bring the dicts in a structure into this order."""
    if order is None:
        return structure
    if isinstance(order, dict):
        ordered = {key: in_order(inner, structure[key]) for key, inner in order.items()}
        if type(structure) is defaultdict:
            return defaultdict(structure.default_factory, ordered)
        return type(structure)(ordered)
    values = [in_order(inner, value) for inner, value in zip(order, structure, strict=True)]
    named = hasattr(structure, "_fields")
    return type(structure)(*values) if named else type(structure)(values)


def map_in_order(function: Callable[..., Any], structure: Any, *others: Any, **options: Any) -> Any:
    """Do what `jax.tree.map` does, and leave dicts in their order."""
    return in_order(order_of(structure), jax.tree.map(function, structure, *others, **options))
