"""The corpus's two scores, as pure functions: accuracy, and consistency over presentations."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from veriscene.errors import InputError
from veriscene.scenes.nlvr import Example

Z95 = 1.959963984540054


@dataclass(frozen=True)
class Scores:
    accuracy: float
    interval: tuple[float, float]  # 95 %, Wilson's; it takes examples as independent
    consistency: float  # the share of presentations whose examples are all judged right
    examples: int
    presentations: int


@dataclass(frozen=True)
class Slice:
    """The scores of those examples that have something in common."""

    group: str
    name: str
    scores: Scores


def score(examples: Sequence[Example], verdicts: Mapping[str, bool]) -> Scores:
    """Scores of verdicts by identifier. Refuses unless each example has a label and exactly one verdict."""
    check_complete(examples, verdicts)
    return _scores([(example.presentation, verdicts[example.identifier] == example.label) for example in examples])


def check_complete(examples: Sequence[Example], verdicts: Mapping[str, bool], *, file: Path | None = None) -> None:
    """InputError unless each example has a label and a verdict, and each verdict, read from `file`, an example."""
    if not examples:
        raise InputError("there are no examples to score")
    repeated = [identifier for identifier, count in Counter(e.identifier for e in examples).items() if count > 1]
    unlabelled = [example.identifier for example in examples if example.label is None]
    missing = [example.identifier for example in examples if example.identifier not in verdicts]
    unknown = sorted(verdicts.keys() - {example.identifier for example in examples})
    place_of = {example.identifier: example.place for example in examples}
    in_file = f"{file}: " if file else ""
    for where, identifiers, what in (
        ("", repeated, "occur twice among the examples"),
        ("", unlabelled, "have no label, so nothing can be scored"),
        (in_file, missing, "have no prediction; every example must have one"),
        (in_file, unknown, "are predicted but not among the examples; score the file that was predicted"),
    ):
        if identifiers:
            place = place_of.get(identifiers[0])
            first = repr(identifiers[0]) + (f", {place}" if place else "")
            raise InputError(f"{where}{len(identifiers)} identifiers {what} (the first: {first})")


def wilson(right: int, total: int) -> tuple[float, float]:
    """The 95 % interval of a share."""
    share = right / total
    middle = (share + Z95**2 / (2 * total)) / (1 + Z95**2 / total)
    reach = Z95 / (1 + Z95**2 / total) * math.sqrt(share * (1 - share) / total + Z95**2 / (4 * total**2))
    return max(0.0, middle - reach), min(1.0, middle + reach)


def breakdown(examples: Sequence[Example], verdicts: Mapping[str, bool]) -> list[Slice]:
    """The scores by kind of picture, by length of statement and by telling words; an empty slice is left out."""
    check_complete(examples, verdicts)
    members: dict[tuple[str, str], list[Example]] = defaultdict(list)
    for example in examples:
        for slice_name in _slices(example):
            members[slice_name].append(example)
    order = [("picture", name) for name in ("towers", "scatter")]
    order += [("length", name) for name, _ in _LENGTHS] + [("words", name) for name in _WORDS]
    return [
        Slice(*name, _scores([(e.presentation, verdicts[e.identifier] == e.label) for e in members[name]]))
        for name in order
        if members[name]
    ]


_LENGTHS = (("up to 8 words", 8), ("9 to 12 words", 12), ("13 words or more", 10**9))
_NUMBERS = "one two three four five six seven eight nine ten 1 2 3 4 5 6 7 8 9 10"
_WORDS = {
    "a number": re.compile(rf"\b({'|'.join(_NUMBERS.split())})\b"),
    "at least, at most": re.compile(r"\bat\s?(least|most)\b"),
    "exactly, only": re.compile(r"\b(exactly|only)\b"),
    "no, not": re.compile(r"\b(no|not|none|without)\b"),
    "all, every, each": re.compile(r"\b(all|every|each)\b"),
    "touching": re.compile(r"\btouch\w*"),
    "top": re.compile(r"\btop\b"),
    "base, bottom": re.compile(r"\b(base|bottom)\b"),
    "above, over, below, under": re.compile(r"\b(above|over|below|under)\b"),
    "same, different": re.compile(r"\b(same|different)\b"),
}


def _slices(example: Example) -> Iterable[tuple[str, str]]:
    yield "picture", "towers" if example.scene.is_towers else "scatter"
    length = len(example.statement.split())
    yield "length", next(name for name, most in _LENGTHS if length <= most)
    lowered = example.statement.lower()
    yield from (("words", name) for name, pattern in _WORDS.items() if pattern.search(lowered))


def _scores(judged: Sequence[tuple[str, bool]]) -> Scores:
    right = sum(correct for _, correct in judged)
    all_right: dict[str, bool] = defaultdict(lambda: True)
    for presentation, correct in judged:
        all_right[presentation] &= correct
    return Scores(
        accuracy=right / len(judged),
        interval=wilson(right, len(judged)),
        consistency=sum(all_right.values()) / len(all_right),
        examples=len(judged),
        presentations=len(all_right),
    )
