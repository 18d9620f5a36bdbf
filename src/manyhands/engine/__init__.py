"""How a step runs: steps, layouts, and the engines that make programs of them."""

from manyhands.engine.batch import Batch, BatchSpec, Picks, Stack, array_spec
from manyhands.engine.eager import EagerEngine
from manyhands.engine.layout import Layout, replicated
from manyhands.engine.leaf import Leaf, LeafRole
from manyhands.engine.program import Engine, Memory, Program
from manyhands.engine.row_split import RowSplit
from manyhands.engine.spmd import SpmdEngine
from manyhands.engine.step import Step

__all__ = [
    "Batch",
    "BatchSpec",
    "EagerEngine",
    "Engine",
    "Layout",
    "Leaf",
    "LeafRole",
    "Memory",
    "Picks",
    "Program",
    "RowSplit",
    "SpmdEngine",
    "Stack",
    "Step",
    "array_spec",
    "replicated",
]
