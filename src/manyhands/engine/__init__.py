"""How a step runs: Keras models lifted to pure functions, and the engines that run those."""

from manyhands.engine.batch import Batch, Picks, RowLayout, Stack, layout_of, spec_of
from manyhands.engine.eager import EagerProgram
from manyhands.engine.lift import lift
from manyhands.engine.placement import Placement
from manyhands.engine.program import Memory, Program, Step
from manyhands.engine.roles import Role
from manyhands.engine.spmd import SpmdProgram

__all__ = [
    "Batch",
    "EagerProgram",
    "Memory",
    "Picks",
    "Placement",
    "Program",
    "Role",
    "RowLayout",
    "SpmdProgram",
    "Stack",
    "Step",
    "layout_of",
    "lift",
    "spec_of",
]
