"""What a result was measured on: the machine's parts and the versions of what ran."""

from __future__ import annotations

import os
import platform
from importlib import metadata

from manyhands.devices import nvml

PACKAGES = ("manyhands", "jax", "jaxlib", "keras", "numpy", "torch", "tensorflow")


def describe() -> dict:
    gpus = [gpu.model for gpu in nvml.read().gpus]
    name = gpus[0].lower().replace(" ", "-") if gpus else f"cpu-{os.cpu_count()}-cores"
    return {
        "name": name,
        "gpus": gpus,
        "cpu": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {package: _version(package) for package in PACKAGES},
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
