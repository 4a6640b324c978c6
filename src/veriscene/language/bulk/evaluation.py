"""Programs on many scenes at once. Equal to `Program.holds` on each scene, many times as fast."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veriscene.language.bulk.arrays import Array, SceneArrays
from veriscene.language.bulk.compiling import compile_rows
from veriscene.language.bulk.rows import Code, Rows, Unsupported
from veriscene.language.execution import MAX_STEPS, compile_expression
from veriscene.language.program import Program
from veriscene.language.sets import Undefined

MOST_ROWS = 1 << 20  # evaluated at once: it bounds memory


@dataclass(frozen=True)
class Truths:
    """Of one program on n scenes."""

    holds: Array  # (n,), bool
    undefined: Array  # (n,), bool: a presupposition fails, so that neither the statement nor its negation is true


class BulkProgram:
    """A program, compiled for evaluation on many scenes."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._code = _compiled(program)

    @property
    def vectorised(self) -> bool:
        """False if it uses a construct that is left to the plain evaluator."""
        return self._code is not None

    def holds(self, scenes: SceneArrays, which: Array | None = None) -> Array:
        """(n,): as `Program.holds`; False where a presupposition fails."""
        return self(scenes, which).holds

    def __call__(self, scenes: SceneArrays, which: Array | None = None) -> Truths:
        """On all scenes, or on those with the given numbers, in that order.

        Raises InputError where `Program.holds` does: if evaluation takes too many steps.
        """
        which = np.arange(len(scenes)) if which is None else which
        if self._code is None:
            return _plain(self.program, scenes[which])
        at_once = max(1, MOST_ROWS // (1 + self._code.cost))
        parts = [_run(self._code, scenes, which[start : start + at_once]) for start in range(0, len(which), at_once)]
        if len(parts) == 1:
            return parts[0]
        found = [np.concatenate([vars(part)[name] for part in parts] or [np.empty(0, bool)]) for name in _FIELDS]
        return Truths(*found)


_FIELDS = ("holds", "undefined")


def _compiled(program: Program) -> Code | None:
    try:
        code = compile_rows(program.expression)
    except Unsupported:
        return None
    return code if code.cost <= MAX_STEPS else None  # the plain evaluator counts the steps


def _run(code: Code, scenes: SceneArrays, which: Array) -> Truths:
    rows = Rows(scenes, which)
    holds = np.broadcast_to(code.run(rows), len(rows))
    undefined = np.zeros(len(rows), bool) if rows.undefined is None else rows.undefined
    return Truths(holds & ~undefined, undefined)


def _plain(program: Program, scenes: SceneArrays) -> Truths:
    value = compile_expression(program.expression)
    holds, undefined = np.zeros((2, len(scenes)), bool)
    for number, scene in enumerate(scenes.scenes()):
        try:
            holds[number] = value(scene)
        except Undefined:
            undefined[number] = True
    return Truths(holds, undefined)
