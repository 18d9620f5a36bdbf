"""A virtual environment with TensorFlow, for the one rival that needs it; made on first use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PLACE = Path(__file__).parents[1] / ".venv-tf"


def python() -> str:
    path = PLACE / "bin" / "python"
    if not (PLACE / ".ready").exists():
        subprocess.run([sys.executable, "-m", "venv", PLACE], check=True)
        packages = ["tensorflow-cpu", "keras>=3.15.1", "rich"]
        subprocess.run([path, "-m", "pip", "install", "--quiet", *packages], check=True)
        (PLACE / ".ready").touch()
    return str(path)
