"""Judged examples, and which of them to show: always the same ones for the same verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from veriscene.worlds.nlvr.corpus import Example

Maps = Sequence[Sequence[Sequence[float]]]
T = TypeVar("T")


@dataclass(frozen=True)
class Judged:
    """A model's verdict on an example, with what led to it; None where the model has no such thing."""

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
        """None if the example has no label."""
        return None if self.example.label is None else self.verdict == self.example.label

    @property
    def confidence(self) -> float:
        """The probability of the verdict given: 0.5 to 1."""
        return max(self.probability, 1 - self.probability)


def spread(members: Sequence[T], count: int) -> list[T]:
    """Up to `count` members, evenly spaced from the first on."""
    if len(members) <= count:
        return list(members)
    return [members[number * len(members) // count] for number in range(count)]


def typical(judged: Sequence[Judged], count: int) -> list[Judged]:
    """Up to `count` examples that are not wrong, of different statements: towers and scatter in turn, each kind evenly
    spaced over the file. Boxes with a single item, whose order and attention are trivial, are avoided."""
    busy = [each for each in judged if each.is_right is not False and min(_items(each)) > 1]
    busy = _distinct(busy) or _distinct(each for each in judged if each.is_right is not False)
    towers = [each for each in busy if each.example.scene.is_towers]
    scatter = [each for each in busy if not each.example.scene.is_towers]
    few = min(len(towers), max((count + 1) // 2, count - len(scatter)))
    chosen = [spread(towers, few), spread(scatter, count - few)]
    return [kind[turn] for turn in range(count) for kind in chosen if turn < len(kind)]


def mistakes(judged: Iterable[Judged]) -> list[Judged]:
    """The wrong verdicts, the most confident first."""
    return sorted((each for each in judged if each.is_right is False), key=lambda each: -each.confidence)


def contrasts(judged: Sequence[Judged], baseline: Sequence[Judged]) -> list[tuple[Judged, Judged]]:
    """What the model gets right and the baseline wrong, by how far apart the two probabilities are.

    Both must have judged the same examples in the same order.
    """
    pairs = zip(judged, baseline, strict=True)
    found = [(ours, theirs) for ours, theirs in pairs if ours.is_right is True and theirs.is_right is False]
    return sorted(found, key=lambda pair: -abs(pair[0].probability - pair[1].probability))


def first_per_statement(found: Iterable[T], statement: Callable[[T], str]) -> list[T]:
    """The first member for each statement, in order. Sentences that differ only in spaces or case are one statement."""
    kept: dict[str, T] = {}
    for member in found:
        kept.setdefault(" ".join(statement(member).lower().split()), member)
    return list(kept.values())


def _distinct(judged: Iterable[Judged]) -> list[Judged]:
    return first_per_statement(judged, lambda each: each.example.statement)


def _items(judged: Judged) -> list[int]:
    return [len(box.items) for box in judged.example.scene.boxes]
