"""The meaning of a statement: an expression that is true or false of a scene."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from veriscene.errors import InputError
from veriscene.language.execution import compile_expression
from veriscene.language.expression import Expression
from veriscene.language.sets import Undefined
from veriscene.language.types import Kind, described
from veriscene.language.unparsing import unparse
from veriscene.world.scene import Scene


@dataclass(frozen=True, repr=False)
class Program:
    """An expression without free variables; raises InputError unless its value is a truth value."""

    expression: Expression

    def __post_init__(self) -> None:
        if self.expression.type is not Kind.TRUTH:
            what = f"the program returns {described(self.expression.type)}"
            raise InputError(what, allowed="it must return a truth value, as exist(…) or count(…) == 1")

    @cached_property
    def _run(self) -> Callable[[Scene], bool]:
        return compile_expression(self.expression)  # on first use: a teacher's programs run in bulk, or elsewhere

    def __repr__(self) -> str:
        return f"Program({self.text})"

    def __reduce__(self) -> tuple[type[Program], tuple[Expression]]:
        return Program, (self.expression,)  # Closures cannot be pickled.

    def holds(self, scene: Scene) -> bool:
        """Whether the statement is true of the scene.

        If a presupposition fails, the statement is false, and so is its negation: `unique` of no or several members,
        an index past the end, the minimum of an empty set, a remainder by zero. Raises InputError if evaluation takes
        too many steps.
        """
        try:
            return self._run(scene)
        except Undefined:
            return False

    @property
    def text(self) -> str:
        """The program as text; `notation.parse` turns it into an equal program."""
        return unparse(self.expression)
