"""Measure one rival on one work in a process of its own, and print the result as JSON."""

from __future__ import annotations

import importlib
import json
import sys

from bench.works import WORKS


def main() -> None:
    rival, name, devices = sys.argv[1:4]
    work = WORKS[name]
    module = importlib.import_module(f"bench.rivals.{rival}")
    step_s = module.measure(work, int(devices) or None)
    print(json.dumps({"step_s": step_s, "peak_bytes": _peak_bytes()}))


def _peak_bytes() -> int | None:
    """The most a GPU held, by whichever framework ran."""
    if "torch" in sys.modules and sys.modules["torch"].cuda.is_available():
        return sys.modules["torch"].cuda.max_memory_allocated()
    if "jax" in sys.modules:
        stats = sys.modules["jax"].local_devices()[0].memory_stats() or {}
        return stats.get("peak_bytes_in_use")
    return None


if __name__ == "__main__":
    main()
