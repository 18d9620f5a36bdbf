"""What the rooms above tell Keras' side: set when they are loaded, asked when something happens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass
class Hooks:
    """Who is told of what."""

    on_new_model: Callable[[Any], None] = lambda model: None  # noqa: ARG005
    """A model was made."""
    on_other_model: Callable[[Any, str], None] = lambda model, called: None  # noqa: ARG005
    """A method of a model is called; before it runs."""
    before_apply: Callable[[list[Any]], list[Any]] = lambda gradients: gradients
    """Gradients are about to be applied; gives those to apply."""


hooks = Hooks()
"""One a process, as Keras is."""
