"""What `restore` returns: questions about how saved values and objects paired up.

In: a Restoration and the object it went into.  Out: silence, or an UnmatchedError that names what
is left over.
"""

from __future__ import annotations

from typing import Any

from manyhands.checkpoint.errors import UnmatchedError
from manyhands.checkpoint.graph import walk
from manyhands.checkpoint.restoration import Restoration, some
from manyhands.errors import explain


class RestoreStatus:
    """How far a restoration has come; values still waiting are looked for again when asked."""

    def __init__(self, restoration: Restoration, *roots: Any) -> None:
        self._restoration = restoration
        self._roots = roots

    def assert_consumed(self) -> RestoreStatus:
        """Fail unless every saved value has an object, and every object a saved value."""
        self.assert_existing_objects_matched()
        missing = self._restoration.missing()
        if missing:
            raise _unmatched(
                "The checkpoint has values that no object has taken.",
                f"{self._restoration.path}: {some(missing)}",
                "build the model and the optimizer first, name the objects as they were when "
                "saved, or call expect_partial() instead.",
            )
        return self

    def assert_existing_objects_matched(self) -> RestoreStatus:
        """Fail unless every variable that exists now has a saved value."""
        self._restoration.settle()
        restored = self._restoration.restored()
        lonely = [
            node.key
            for node in walk(*self._roots)
            if node.kind in ("variable", "state")
            and node.key.rpartition("/")[2] != "save_counter"
            and id(node.thing) not in restored
        ]
        if lonely:
            raise _unmatched(
                "Objects have no value in the checkpoint.",
                f"{self._restoration.path} lacks {some(lonely)}",
                "name the objects as they were when saved, or call expect_partial() instead.",
            )
        return self

    def assert_nontrivial_match(self) -> RestoreStatus:
        """Fail if no object at all has taken a value."""
        self._restoration.settle()
        if not self._restoration.num_restored():
            raise _unmatched(
                "Nothing in the checkpoint fits any object here.",
                f"{self._restoration.path} holds {some(self._restoration.missing())}",
                "give the Checkpoint the same names as when it was saved.",
            )
        return self

    def expect_partial(self) -> RestoreStatus:
        """Say that values left over are fine."""
        self._restoration.expect_partial()
        return self

    def initialize_or_restore(self, session: Any = None) -> None:
        """Do nothing: values are restored at once."""

    def run_restore_ops(self, session: Any = None) -> None:
        """Do nothing: values are restored at once."""


class NothingRestored(RestoreStatus):
    """What `restore(None)` returns: there was no checkpoint to restore."""

    def __init__(self) -> None:
        pass

    def _fail(self) -> RestoreStatus:
        raise _unmatched(
            "No checkpoint was restored.",
            "restore(None), as from latest_checkpoint on an empty directory",
            "check the directory, or ask only when a path was found.",
        )

    def expect_partial(self) -> RestoreStatus:
        """Do nothing."""
        return self

    def assert_consumed(self) -> RestoreStatus:
        """Fail: nothing was restored."""
        return self._fail()

    def assert_existing_objects_matched(self) -> RestoreStatus:
        """Fail: nothing was restored."""
        return self._fail()

    def assert_nontrivial_match(self) -> RestoreStatus:
        """Fail: nothing was restored."""
        return self._fail()


def _unmatched(what: str, got: str, fix: str) -> UnmatchedError:
    return UnmatchedError(explain(what, got=got, fix=fix))
