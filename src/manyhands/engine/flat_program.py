"""A jaxpr without the functions it calls: one list of operations on numbered values.

In: a closed jaxpr.  Out: a FlatProgram.  Values are numbered, not named, for the same inner jaxpr
may be called more than once, and its variables are the same each time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from jax.extend.core import Literal

from manyhands.engine.jax_inside import evaluate

Atom: TypeAlias = int | Literal
"""A value's number, or a constant."""

_CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "custom_jvp_call": "call_jaxpr"}
"""Operations that only call a function, and where they keep it."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One equation, and the numbers of what goes in and comes out."""

    equation: Any
    ins: list[Atom]
    outs: list[int]

    @property
    def name(self) -> str:
        """What JAX calls it."""
        return self.equation.primitive.name

    @property
    def params(self) -> dict[str, Any]:
        """What belongs to it besides its operands."""
        return self.equation.params

    def __call__(self, *values: Any) -> list[Any]:
        """Do it."""
        return evaluate(self.equation, list(values))


@dataclass(slots=True)
class FlatProgram:
    """Operations in an order in which they can be done, and the values known before them."""

    arguments: list[int] = field(default_factory=list)
    constants: dict[int, Any] = field(default_factory=dict)
    operations: list[Operation] = field(default_factory=list)
    results: list[Atom] = field(default_factory=list)
    num_values: int = 0

    def new(self) -> int:
        """Number another value."""
        self.num_values += 1
        return self.num_values


def flatten(closed: Any) -> FlatProgram:
    """Write out every function that a closed jaxpr calls."""
    program = FlatProgram()
    program.arguments = [program.new() for _ in closed.jaxpr.invars]
    program.results = _write_out(program, closed, program.arguments)
    return program


def _write_out(program: FlatProgram, closed: Any, arguments: list[Any]) -> list[Atom]:
    numbers: dict[Any, Atom] = dict(zip(closed.jaxpr.invars, arguments, strict=True))
    for variable, value in zip(closed.jaxpr.constvars, closed.consts, strict=True):
        numbers[variable] = number = program.new()
        program.constants[number] = value

    def numbered(atom: Any) -> Atom:
        return atom if isinstance(atom, Literal) else numbers[atom]

    for equation in closed.jaxpr.eqns:
        ins = [numbered(atom) for atom in equation.invars]
        called = _CALLS.get(equation.primitive.name)
        if called is not None:
            outs = _write_out(program, equation.params[called], ins)
        else:
            outs = [program.new() for _ in equation.outvars]
            program.operations.append(Operation(equation, ins, outs))
        numbers.update(zip(equation.outvars, outs, strict=True))
    return [numbered(atom) for atom in closed.jaxpr.outvars]
