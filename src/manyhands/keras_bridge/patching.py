"""How Keras and JAX are changed: each change named, made once, and undone again.

In: Patches.  Out: the attributes they name, replaced; `uninstall` puts back what was there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

_ABSENT = object()


@dataclass(frozen=True)
class Patch:
    """One attribute of somebody else's class or module that we replace.

    Args:
        target: the class or module.
        name: its attribute.
        make: gives the replacement, from what was there (None where there was nothing).
        why: what it is for.
        since: the versions that it was written for.
        contract: the test that fails when a new version changes what it relies on.
    """

    target: Any
    name: str
    make: Callable[[Any], Any]
    why: str
    since: str = "Keras 3.15"
    contract: str = "tests/keras_bridge/test_contracts.py"

    @property
    def where(self) -> str:
        """Name what is replaced."""
        home = getattr(self.target, "__module__", None)
        own = getattr(self.target, "__qualname__", None) or self.target.__name__
        return f"{home}.{own}.{self.name}" if home else f"{own}.{self.name}"


def wraps(original: Any) -> Callable[[Any], Any]:
    """Let a replacement look like what it replaces."""
    return functools.wraps(original)


class Patches:
    """Changes that have been made, in order."""

    def __init__(self) -> None:
        self._made: list[tuple[Patch, Any]] = []

    @property
    def made(self) -> list[Patch]:
        """List them."""
        return [patch for patch, _ in self._made]

    def install(self, patches: Sequence[Patch]) -> None:
        """Make all changes, unless they have been made."""
        if self._made:
            return
        for patch in patches:
            own = vars(patch.target).get(patch.name, _ABSENT)
            before = getattr(patch.target, patch.name, None) if own is _ABSENT else own
            setattr(patch.target, patch.name, patch.make(before))
            self._made.append((patch, own))

    def uninstall(self) -> None:
        """Put back what was there, the last change first."""
        while self._made:
            patch, own = self._made.pop()
            if own is _ABSENT:
                delattr(patch.target, patch.name)
            else:
                setattr(patch.target, patch.name, own)
