"""Judged examples: which of them to show, what mistakes are due to, and confidence compared with accuracy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeVar

import numpy as np

from veriscene.language.program import Program, Statement
from veriscene.metrics.accuracy import clustered_interval, per_statement, phenomena, shows_towers
from veriscene.world.examples import Example, normalized

Maps = Sequence[Sequence[Sequence[float]]]
T = TypeVar("T")


@dataclass(frozen=True)
class Judged:
    """Holds a model's verdict on an example, with what led to it; None where the model has no such thing."""

    example: Example
    probability: float  # that the statement is true of the scene
    per_box: Sequence[float] | None = None
    order: Sequence[Sequence[int]] | None = None  # chosen by the model: per box, item indices as they were read
    words: Sequence[str] | None = None  # of the statement, as the model reads them
    words_to_items: Maps | None = None  # [box][word][item]; each word's row sums to one
    items_to_words: Maps | None = None  # [box][item][word]; each item's row sums to one

    @property
    def verdict(self) -> bool:
        return self.probability > 0.5

    @property
    def is_right(self) -> bool | None:
        """Tells whether the verdict is the label; None if the example has none."""
        return None if self.example.label is None else self.verdict == self.example.label

    @property
    def confidence(self) -> float:
        """Returns the probability of the verdict given, 0.5 to 1."""
        return max(self.probability, 1 - self.probability)


def spread(members: Sequence[T], count: int) -> list[T]:
    """Returns up to `count` members, evenly spaced from the first on."""
    if len(members) <= count:
        return list(members)
    return [members[number * len(members) // count] for number in range(count)]


def typical(judged: Sequence[Judged], count: int) -> list[Judged]:
    """Returns up to `count` examples that are not wrong, of different statements: towers and scatter in turn, each kind
    evenly spaced over the file. Boxes with a single item, whose order and attention are trivial, are avoided."""
    busy = [each for each in judged if each.is_right is not False and min(_items(each), default=0) > 1]
    busy = _distinct(busy) or _distinct(each for each in judged if each.is_right is not False)
    towers = [each for each in busy if shows_towers(each.example)]
    scatter = [each for each in busy if not shows_towers(each.example)]
    few = min(len(towers), max((count + 1) // 2, count - len(scatter)))
    chosen = [spread(towers, few), spread(scatter, count - few)]
    return [kind[turn] for turn in range(count) for kind in chosen if turn < len(kind)]


Orders = Sequence[Sequence[Sequence[int]]]  # [example][box]: the scene's items, as they were read


def with_other_statements(examples: Sequence[Example]) -> list[Example]:
    """Returns the same scenes, each with the statement of an example far from it that says something else."""
    count, found = len(examples), []
    for number, example in enumerate(examples):
        places = ((number + count // 2 + step) % count for step in range(count))
        others = (examples[place].statement for place in places)
        own = normalized(example.statement)
        found.append(replace(example, statement=next((s for s in others if normalized(s) != own), example.statement)))
    return found


def reordered_share(one: Orders, other: Orders) -> float:
    """Returns the share of boxes with several items that are read in another order."""
    pairs = [pair for boxes in zip(one, other, strict=True) for pair in zip(*boxes, strict=True) if len(pair[0]) > 1]
    return sum(list(first) != list(second) for first, second in pairs) / max(1, len(pairs))


def mistakes(judged: Iterable[Judged]) -> list[Judged]:
    """Returns the wrong verdicts, the most confident first."""
    return sorted((each for each in judged if each.is_right is False), key=lambda each: -each.confidence)


def contrasts(judged: Sequence[Judged], baseline: Sequence[Judged]) -> list[tuple[Judged, Judged]]:
    """Returns what the model gets right and the baseline wrong, the probabilities that are furthest apart first.

    Both must have judged the same examples in the same order.
    """
    pairs = zip(judged, baseline, strict=True)
    found = [(ours, theirs) for ours, theirs in pairs if ours.is_right is True and theirs.is_right is False]
    return sorted(found, key=lambda pair: -abs(pair[0].probability - pair[1].probability))


def first_per_statement(found: Iterable[T], statement: Callable[[T], str]) -> list[T]:
    """Returns the first member for each statement, in order. Statements that are equal when `normalized` are one."""
    kept: dict[str, T] = {}
    for member in found:
        kept.setdefault(normalized(statement(member)), member)
    return list(kept.values())


def _distinct(judged: Iterable[Judged]) -> list[Judged]:
    return first_per_statement(judged, lambda each: each.example.statement)


def _items(judged: Judged) -> list[int]:
    return [len(box.items) for box in judged.example.scene.boxes]


# ---------------------------------------------------------------- what mistakes are due to

Programs = Mapping[str, Program]  # by `sentence_key`


class Fault(Enum):
    """Names what a mistake is due to, as the program of its statement tells."""

    LABEL = "label or program"  # the program contradicts the label, so one of the two is wrong
    MODEL = "model"  # the program confirms the label
    UNKNOWN = "no program"


@dataclass(frozen=True)
class WrongStatement:
    """Holds a statement and those of its examples that at least one model judged wrong."""

    statement: str
    phenomena: tuple[str, ...]
    program: Program | None
    examples: tuple[tuple[Fault, tuple[Judged, ...]], ...]  # one verdict per model, in the order of the models


def sentence_key(sentence: str) -> str:
    """Returns a key that is equal for sentences that differ only in spaces."""
    return " ".join(sentence.split())


def by_sentence(statements: Iterable[Statement]) -> dict[str, Program]:
    """Returns the first program of each sentence."""
    programs: dict[str, Program] = {}
    for each in statements:
        programs.setdefault(sentence_key(each.text), each.program)
    return programs


def fault(example: Example, program: Program | None) -> Fault:
    """Tells what is at fault if a model judged the example wrong."""
    if program is None:
        return Fault.UNKNOWN
    return Fault.MODEL if program.holds(example.scene) == example.label else Fault.LABEL


def wrong_statements(models: Sequence[Sequence[Judged]], programs: Programs) -> list[WrongStatement]:
    """Returns every example that a model judged wrong, by statement, the most confident mistake first.

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
    """Returns the confidence of the most confident mistake."""
    return max(each.confidence for each in verdicts if each.is_right is False)


# ---------------------------------------------------------------- does a model know when it is right?

BINS = 10


@dataclass(frozen=True)
class Bin:
    """Describes the verdicts whose confidence lies in one part of 0.5 to 1."""

    examples: int
    confidence: float  # mean probability of the verdict given
    accuracy: float
    interval: tuple[float, float]  # 95 %, of the accuracy, clustered by statement


def reliability(judged: Sequence[Judged]) -> list[Bin]:
    """Groups verdicts by confidence in BINS parts of equal width from 0.5 to 1; empty ones are left out.

    Every example needs a label.
    """
    confidence = np.array([each.confidence for each in judged])
    right = np.array([each.is_right is True for each in judged], dtype=float)
    numbers = np.minimum(((confidence - 0.5) * 2 * BINS).astype(int), BINS - 1)  # a confidence of 1 is in the last one
    found = []
    for number in np.unique(numbers).tolist():
        members = np.flatnonzero(numbers == number)
        examples = [judged[index].example for index in members.tolist()]
        sizes = per_statement(examples, np.ones(len(examples)))
        interval = clustered_interval(per_statement(examples, right[members]), sizes)
        found.append(Bin(len(members), float(confidence[members].mean()), float(right[members].mean()), interval))
    return found


def expected_calibration_error(bins: Sequence[Bin]) -> float:
    """Returns the gap between accuracy and mean confidence, averaged over bins by their number of examples."""
    return sum(b.examples * abs(b.accuracy - b.confidence) for b in bins) / sum(b.examples for b in bins)
