"""Hear which functions run while a step is traced.

In: a Reach.  Out: the Reach has seen each function of the program before it ran, and each of
Keras' functions is noted with the object it belongs to.
It listens through Python's profiling hook, on this thread only, and gives the hook back.  Python
takes away a hook that raises; the tracing hook then brings it back as the error leaves the frame,
so that what a step does in `except`, `finally` and at the end of a `with` is heard too.
"""

from __future__ import annotations

import gc
import sys
import types
from typing import Any

from manyhands.engine.python_reads.inside import UnfollowedError
from manyhands.engine.python_reads.names import names_of
from manyhands.engine.python_reads.of_keras import KINDS
from manyhands.engine.python_reads.owners import Owner, owner_of
from manyhands.engine.python_reads.reach import Reach
from manyhands.engine.python_reads.world import asks_the_world

_libraries: set[int] = set()
"""The globals of modules that nothing is followed in."""
_MAKES = ("__init__", "__new__", "__post_init__")


class Listener:
    """Listens between `with` and its end."""

    def __init__(self, reach: Reach, *, is_frozen: bool = False) -> None:
        self.keras: dict[int, tuple[Any, set[str]]] = {}
        """Keras' objects whose functions ran, and what those name."""
        self.draws_seeds = False
        """Whether the program's own seed generator was asked for."""
        self.failed: BaseException | None = None
        """Why the step cannot be compiled, also where it caught the error itself."""
        self._is_frozen = is_frozen
        self._reach = reach
        self._before: Any = None
        self._traced_before: Any = None
        self._traced: list[tuple[types.FrameType, Any]] = []
        """Frames that are told of an error, and what told them before."""
        self._collects = False

    def __enter__(self) -> Listener:
        self._before, self._traced_before = sys.getprofile(), sys.gettrace()
        self._collects = gc.isenabled()
        gc.disable()  # its callbacks would run as if the step had called them
        sys.setprofile(self._hook())
        return self

    def __exit__(self, *_: object) -> None:
        traced, self._traced = self._traced, []
        if traced:
            sys.settrace(self._traced_before)
        for frame, tracer in traced:
            frame.f_trace = tracer
        sys.setprofile(None)
        if self._collects:
            gc.enable()
        if hasattr(self._before, "enable"):
            self._before.enable()  # cProfile's, which is no function
        elif self._before is not None:
            sys.setprofile(self._before)

    def _hook(self) -> Any:
        """Give what Python calls for each event: most are a library's, and there are millions."""

        def hook(frame: types.FrameType, event: str, given: Any) -> None:
            if id(frame.f_globals) not in libraries:
                heard(frame, event, given)

        libraries, heard = _libraries, self._event
        return hook

    def _event(self, frame: types.FrameType, event: str, given: Any) -> None:
        owner = owner_of(frame)
        if owner is Owner.LIBRARY:
            if frame.f_globals is vars(sys.modules.get(frame.f_globals["__name__"], types)):
                _libraries.add(id(frame.f_globals))  # a module's, which stays
            return
        try:
            if event == "call":
                self._called(frame, owner)
            elif event == "return":
                self._returned(frame, owner, given)
            elif event == "c_call":
                self._asks(frame, owner, given)
        except UnfollowedError as error:
            if not self._is_frozen:
                self.failed = error
                self._hear_on(frame)
                raise

    def _hear_on(self, frame: types.FrameType | None) -> None:
        """Have the hook brought back, which Python takes away as we raise."""
        if not self._traced:
            hook = sys.getprofile()

            def bring_back(frame: types.FrameType, event: str, given: Any) -> Any:
                del frame, given
                if event == "exception" and self._traced:
                    sys.setprofile(hook)
                return bring_back

            while frame is not None:
                self._traced.append((frame, frame.f_trace))
                frame.f_trace = bring_back
                frame = frame.f_back
            sys.settrace(bring_back)

    def _called(self, frame: types.FrameType, owner: Owner) -> None:
        if frame.f_code.co_name in _MAKES:
            self._reach.made.add(id(_self_of(frame)))
        if owner is Owner.KERAS:
            self._note(frame)
            if frame.f_code.co_name == "global_seed_generator":
                self.draws_seeds = True
        elif owner is Owner.ERRORS:
            self._note_error(frame)
        elif owner is Owner.FILES:
            if not frame.f_code.co_name.startswith("<"):
                raise UnfollowedError(f"it calls {frame.f_code.co_name}, which is for files")
        elif owner is Owner.PROGRAM or _is_followed(frame):
            self._reach.function(frame, by_library=_by_library(frame))
            if owner is Owner.PROGRAM:
                self._note_method(frame)

    def _note_error(self, frame: types.FrameType) -> None:
        """Remember that the step needed a value, whoever catches the error."""
        error = _self_of(frame)
        if frame.f_code.co_name == "__init__" and isinstance(error, Exception):
            self.failed = self.failed or error

    def _note_method(self, frame: types.FrameType) -> None:
        """Note that a program's function stands for a method of one of Keras' objects."""
        of = _self_of(frame)
        if isinstance(of, KINDS) and id(of) not in self._reach.made:
            self.keras.setdefault(id(of), (of, set()))[1].add(frame.f_code.co_name)

    def _note(self, frame: types.FrameType) -> None:
        of = _self_of(frame)
        if of is None or id(of) in self._reach.made or not hasattr(of, "__dict__"):
            return
        self.keras.setdefault(id(of), (of, set()))[1].update(names_of(frame.f_code).names)

    def _returned(self, frame: types.FrameType, owner: Owner, given: Any) -> None:
        if owner is Owner.PROGRAM:
            self._reach.ended(frame)
        caller = frame.f_back
        if given is not None and caller is not None and owner_of(caller) is Owner.PROGRAM:
            self._reach.returned(caller, given)

    def _asks(self, frame: types.FrameType, owner: Owner, function: Any) -> None:
        if owner not in (Owner.PROGRAM, Owner.PYTHON, Owner.KERAS):
            return
        if _is_import(frame):
            return
        asked = asks_the_world(function)
        if asked is not None and (owner is Owner.PROGRAM or _is_followed(frame, also=Owner.KERAS)):
            raise UnfollowedError(f"it calls {asked}, which a compiled step would call only once")


def _is_import(frame: types.FrameType) -> bool:
    return "importlib" in (frame.f_globals.get("__name__") or "")


def _self_of(frame: types.FrameType) -> Any:
    names = frame.f_code.co_varnames
    return frame.f_locals.get(names[0]) if names and frame.f_code.co_argcount else None


def _is_followed(frame: types.FrameType | None, also: Owner = Owner.PYTHON) -> bool:
    """Whether a function of Python's own was called by the program."""
    while frame is not None and owner_of(frame) in (Owner.PYTHON, also):
        frame = frame.f_back
    return frame is not None and owner_of(frame) is Owner.PROGRAM


def _by_library(frame: types.FrameType) -> bool:
    caller = frame.f_back
    return caller is None or owner_of(caller) in (Owner.LIBRARY, Owner.KERAS)
