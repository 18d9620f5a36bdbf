"""Stands in the way of sklearn: Keras would load it into every program that the tests start."""

raise ImportError("left out of the tests' programs, which do not need it")
