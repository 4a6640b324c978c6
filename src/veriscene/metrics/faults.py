"""Error analysis: each statement with the examples that were judged wrong, and what is at fault."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from veriscene.language.notation import Stated
from veriscene.language.program import Program
from veriscene.metrics.accuracy import phenomena
from veriscene.metrics.judged import Judged
from veriscene.worlds.nlvr.corpus import Example

Programs = Mapping[str, Program]  # by `sentence_key`


class Fault(Enum):
    LABEL = "label or program"  # the program contradicts the label, so one of the two is wrong
    MODEL = "model"  # the program confirms the label
    UNKNOWN = "no program"


@dataclass(frozen=True)
class WrongStatement:
    """A statement and those of its examples that at least one model judged wrong."""

    statement: str
    phenomena: tuple[str, ...]
    program: Program | None
    examples: tuple[tuple[Fault, tuple[Judged, ...]], ...]  # one verdict per model, in the order of the models


def sentence_key(sentence: str) -> str:
    """Equal for sentences that differ only in spaces."""
    return " ".join(sentence.split())


def by_sentence(statements: Iterable[Stated]) -> dict[str, Program]:
    """The first program of each sentence."""
    programs: dict[str, Program] = {}
    for each in statements:
        programs.setdefault(sentence_key(each.text), each.program)
    return programs


def fault(example: Example, program: Program | None) -> Fault:
    """What is at fault if a model judged the example wrong."""
    if program is None:
        return Fault.UNKNOWN
    return Fault.MODEL if program.holds(example.scene) == example.label else Fault.LABEL


def wrong_statements(models: Sequence[Sequence[Judged]], programs: Programs) -> list[WrongStatement]:
    """Every example that a model judged wrong, by statement; the most confident mistake first.

    All models must have judged the same labelled examples, in the same order.
    """
    wrong = [verdicts for verdicts in zip(*models, strict=True) if any(each.is_right is False for each in verdicts)]
    wrong.sort(key=lambda verdicts: -_confidence(verdicts))
    groups: dict[str, list[tuple[Judged, ...]]] = {}
    for verdicts in wrong:
        groups.setdefault(sentence_key(verdicts[0].example.statement), []).append(verdicts)
    found = []
    for statement, members in groups.items():
        program, example = programs.get(statement), members[0][0].example
        examples = tuple((fault(verdicts[0].example, program), verdicts) for verdicts in members)
        found.append(WrongStatement(statement, tuple(phenomena(example)), program, examples))
    return found


def _confidence(verdicts: tuple[Judged, ...]) -> float:
    """Of the most confident mistake."""
    return max(each.confidence for each in verdicts if each.is_right is False)
