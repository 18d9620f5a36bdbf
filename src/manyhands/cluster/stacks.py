"""What the threads of this process are doing, as text."""

from __future__ import annotations

import sys
import threading
import traceback


def python_stacks(most_lines: int = 40) -> str:
    """Show the program's own threads: the main one first, ours left out."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    main = threading.main_thread().ident
    parts = []
    frames = sorted(sys._current_frames().items(), key=lambda pair: pair[0] != main)
    for ident, frame in frames:
        name = names.get(ident, "thread")
        if name.startswith(("manyhands-hub", "manyhands-g")):
            continue
        lines = "".join(traceback.format_stack(frame)[-most_lines:])
        parts.append(f"{name}:\n{lines}")
    return "\n".join(parts)
