"""Twelve rows that the steps of these tests are given."""

from __future__ import annotations

import numpy as np

X = np.random.default_rng(0).normal(size=(12, 3)).astype("float32")
