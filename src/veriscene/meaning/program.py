"""What a statement means: an expression that is true or false of a scene."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from veriscene.errors import InputError
from veriscene.meaning.language.execution import executable
from veriscene.meaning.language.expression import Expression
from veriscene.meaning.language.functions import Undefined
from veriscene.meaning.language.kinds import Kind, described
from veriscene.meaning.language.spelling import unparse
from veriscene.scenes.scene import Scene

__all__ = ["Program", "Undefined"]


@dataclass(frozen=True, repr=False)
class Program:
    """A closed expression whose type is a truth; anything else raises InputError when it is built."""

    expression: Expression
    _run: Callable[[Scene], bool] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if self.expression.type is not Kind.TRUTH:
            what = described(self.expression.type)
            raise InputError(f"the program gives {what}; it must give a truth, as exist(…) or count(…) == 1 does")
        object.__setattr__(self, "_run", executable(self.expression))

    def __repr__(self) -> str:
        return f"Program({self.text})"

    def __reduce__(self) -> tuple[type[Program], tuple[Expression]]:
        return Program, (self.expression,)

    def holds(self, scene: Scene) -> bool:
        """Whether the statement is true of the scene.

        A statement that presupposes what the scene does not have (`unique` of none or of several, a member past the
        end of a list, the least of an empty set, a remainder by zero) is false there, and so is its negation. A
        program that nests so many lambdas that it would run for very long raises InputError.
        """
        try:
            return self._run(scene)
        except Undefined:
            return False

    def value(self, scene: Scene) -> bool:
        """As `holds`, but raises Undefined where a presupposition fails."""
        return self._run(scene)

    @property
    def text(self) -> str:
        """The program in the notation; `notation.parse` turns it into an equal program."""
        return unparse(self.expression)
