"""Accuracy and consistency as the corpus defines them, with confidence intervals clustered by statement, and two models
compared: the difference in accuracy, its interval, and McNemar's test."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np

from veriscene import worlds
from veriscene.errors import InputError
from veriscene.output import counted
from veriscene.world.corpus import split_file
from veriscene.world.examples import Example, normalized
from veriscene.world.schema import World

Verdicts = Mapping[str, bool | None]  # by identifier; None, that a statement was not understood, is wrong
Z95 = 1.959963984540054
RESAMPLES = 10_000


@dataclass(frozen=True)
class Scores:
    """Says how good the verdicts on some examples are."""

    accuracy: float
    interval: tuple[float, float]  # 95 %, of the accuracy; see `clustered_interval`
    consistency: float  # the share of presentations with every example correct
    examples: int
    presentations: int


@dataclass(frozen=True)
class Slice:
    """Holds the scores of a subset of the examples."""

    group: str
    name: str
    scores: Scores


@dataclass(frozen=True)
class Score:
    """Holds the scores of one seed."""

    seed: int
    accuracy: float
    consistency: float
    unseen: float | None = None  # the accuracy on statements that train does not have; None if that is not known


@dataclass(frozen=True)
class Summary:
    """Holds the scores of all seeds on one split."""

    scores: tuple[Score, ...]

    @property
    def accuracy(self) -> float:
        return mean(score.accuracy for score in self.scores)

    @property
    def consistency(self) -> float:
        return mean(score.consistency for score in self.scores)

    @property
    def unseen(self) -> float | None:
        known = [score.unseen for score in self.scores if score.unseen is not None]
        return mean(known) if len(known) == len(self.scores) else None

    @property
    def spread(self) -> float | None:
        """Returns the standard deviation of the accuracy over seeds; None for a single seed."""
        return stdev(score.accuracy for score in self.scores) if len(self.scores) > 1 else None

    @property
    def best(self) -> Score:
        return max(self.scores, key=lambda score: score.accuracy)

    def to_json(self) -> dict[str, Any]:
        figures = {"accuracy": self.accuracy, "spread": self.spread, "consistency": self.consistency}
        return {**figures, "unseen": self.unseen, "scores": [asdict(score) for score in self.scores]}

    def __str__(self) -> str:
        spread = f" ± {self.spread:.1%}" if self.spread is not None else ""
        count = counted(len(self.scores), "seed")
        best = f"best {self.best.accuracy:.1%} (seed {self.best.seed})"
        return f"{self.accuracy:.1%}{spread} over {count}, {best}, consistency {self.consistency:.1%}"


def score(examples: Sequence[Example], verdicts: Verdicts) -> Scores:
    """Scores verdicts by identifier; None is wrong. Raises InputError unless each example has a label and exactly one
    verdict."""
    return _scores(examples, correct(examples, verdicts))


def train_statements(train: Path, world: World | None = None) -> frozenset[str] | None:
    """Returns the statements of a train split, `normalized`; None for a corpus folder without one."""
    if train.is_dir():
        try:
            train = split_file(train, "train")
        except InputError:
            return None
    return frozenset(normalized(example.statement) for example in worlds.read(train, world))


def unseen_accuracy(examples: Sequence[Example], verdicts: Verdicts, seen: frozenset[str] | None) -> float | None:
    """Returns the accuracy on statements that are not among `train_statements`; None if these are not known, or if
    there are no others."""
    others = [] if seen is None else [example for example in examples if normalized(example.statement) not in seen]
    return sum(verdicts[each.identifier] == each.label for each in others) / len(others) if others else None


def breakdown(examples: Sequence[Example], verdicts: Verdicts, seen: frozenset[str] | None = None) -> list[Slice]:
    """Returns the scores by scene type, statement length and keyword and, given `train_statements`, by whether these
    have the statement; empty slices are omitted."""
    is_correct, slices = correct(examples, verdicts), []
    by_train: dict[tuple[str, str], Callable[[Example], bool]] = {}
    if seen is not None:
        by_train["statement", "in train"] = lambda example: normalized(example.statement) in seen
        by_train["statement", "not in train"] = lambda example: normalized(example.statement) not in seen
    for (group, name), includes in {**by_train, **_SLICES}.items():
        members = [index for index, example in enumerate(examples) if includes(example)]
        if members:
            slices.append(Slice(group, name, _scores([examples[index] for index in members], is_correct[members])))
    return slices


def phenomena(example: Example) -> list[str]:
    """Returns the kind of picture and the kinds of words in the statement: names of slices of `breakdown`."""
    return [name for (group, name), includes in _SLICES.items() if group != "length" and includes(example)]


def correct(examples: Sequence[Example], verdicts: Verdicts) -> np.ndarray:
    """(example,): whether each verdict is correct; raises InputError as `check_complete` does."""
    check_complete(examples, verdicts)
    return np.array([verdicts[example.identifier] == example.label for example in examples])


def check_complete(examples: Sequence[Example], verdicts: Verdicts, *, file: Path | None = None) -> None:
    """Raises InputError unless examples and verdicts (read from `file`) match one to one and every label is known."""
    if not examples:
        raise InputError("there are no examples to score")
    repeated = [identifier for identifier, count in Counter(e.identifier for e in examples).items() if count > 1]
    unlabelled = [example.identifier for example in examples if example.label is None]
    missing = [example.identifier for example in examples if example.identifier not in verdicts]
    unknown = sorted(verdicts.keys() - {example.identifier for example in examples})
    place_of = {example.identifier: example.place for example in examples}
    for where, identifiers, what, allowed in (
        (None, repeated, "occurring twice among the examples", "each must occur once"),
        (None, unlabelled, "without a label", "every example to be scored needs true or false"),
        (file, missing, "without a prediction", "every example must have one"),
        (file, unknown, "predicted but not among the examples", "score the file that was predicted"),
    ):
        if identifiers:
            place = place_of.get(identifiers[0])
            first = repr(identifiers[0]) + (f", {place}" if place else "")
            what = f"{counted(len(identifiers), 'identifier')} {what} (the first: {first})"
            raise InputError(what, where=where, allowed=allowed)


def per_statement(examples: Sequence[Example], values: Sequence[float] | np.ndarray) -> np.ndarray:
    """(statement,): the sum of `values`, one per example, over the examples of each distinct statement."""
    index: dict[str, int] = {}
    statements = [index.setdefault(example.statement, len(index)) for example in examples]
    return np.bincount(statements, weights=values)


def clustered_interval(right: np.ndarray, sizes: np.ndarray) -> tuple[float, float]:
    """Returns the 95 % Wilson interval of an accuracy whose examples are independent only between clusters.

    right, sizes: (cluster,), the number of correct examples and of all examples. The number of examples is divided by
    the design effect, the ratio of the accuracy's variance (linearized, between clusters) to the variance it would
    have if all examples were independent. With one example per cluster this is the ordinary Wilson interval.
    """
    examples, size = float(sizes.sum()), float(sizes.mean())
    accuracy = float(right.sum()) / examples
    # Few errors say little about how errors cluster, and none say nothing. One more cluster all right and one all
    # wrong let the estimate start at complete dependence. Simulated coverage: 95 % from 20 clusters on, 90 % with 5.
    effect = _design_effect(np.append(right, [size, 0]), np.append(sizes, [size, size]))
    # No less than independent examples, since the estimate is noisy; no more than complete dependence.
    effective = examples / min(max(effect, 1.0), float(np.square(sizes).sum()) / examples)
    spread = Z95**2 / effective
    middle = (accuracy + spread / 2) / (1 + spread)
    reach = math.sqrt(spread * (accuracy * (1 - accuracy) + spread / 4)) / (1 + spread)
    low, high = max(0.0, middle - reach), min(1.0, middle + reach)
    return min(low, accuracy), max(high, accuracy)  # rounding may place a bound just inside 0 or 1


def _design_effect(right: np.ndarray, sizes: np.ndarray) -> float:
    clusters, examples = len(sizes), sizes.sum()
    accuracy = right.sum() / examples
    clustered = clusters / (clusters - 1) * np.square(right - accuracy * sizes).sum() / examples**2
    independent = accuracy * (1 - accuracy) / (examples - 1)
    return float(clustered / independent)


def shows_towers(example: Example) -> bool | None:
    """Tells whether every box of the scene is a tower; None in worlds without towers."""
    world = worlds.of_example(example)
    return None if world.towers is None else all(map(world.is_tower, example.scene.boxes))


def _has_length(least: int, most: float) -> Callable[[Example], bool]:
    return lambda example: least <= len(example.statement.split()) <= most


def _matches(pattern: str) -> Callable[[Example], bool]:
    words = re.compile(rf"\b({pattern})\b")
    return lambda example: words.search(example.statement.lower()) is not None


_SLICES: dict[tuple[str, str], Callable[[Example], bool]] = {  # by group and name
    ("picture", "towers"): lambda example: shows_towers(example) is True,
    ("picture", "scatter"): lambda example: shows_towers(example) is False,
    ("length", "up to 8 words"): _has_length(0, 8),
    ("length", "9 to 12 words"): _has_length(9, 12),
    ("length", "13 words or more"): _has_length(13, math.inf),
    ("words", "a number"): _matches("one|two|three|four|five|six|seven|eight|nine|ten|[1-9]|10"),
    ("words", "at least, at most"): _matches(r"at\s?(least|most)"),
    ("words", "exactly, only"): _matches("exactly|only"),
    ("words", "no, not"): _matches("no|not|none|without"),
    ("words", "all, every, each"): _matches("all|every|each"),
    ("words", "touching"): _matches(r"touch\w*"),
    ("words", "top"): _matches("top"),
    ("words", "base, bottom"): _matches("base|bottom"),
    ("words", "above, over, below, under"): _matches("above|over|below|under"),
    ("words", "same, different"): _matches("same|different"),
}


def _scores(examples: Sequence[Example], is_correct: np.ndarray) -> Scores:
    consistent: dict[str, bool] = defaultdict(lambda: True)
    for example, right in zip(examples, is_correct.tolist(), strict=True):
        consistent[example.presentation] &= right
    return Scores(
        accuracy=int(is_correct.sum()) / len(examples),
        interval=clustered_interval(
            per_statement(examples, is_correct), per_statement(examples, np.ones(len(examples)))
        ),
        consistency=sum(consistent.values()) / len(consistent),
        examples=len(examples),
        presentations=len(consistent),
    )


# ---------------------------------------------------------------- is one model better than another?


@dataclass(frozen=True)
class Difference:
    """Accuracy of the first model minus accuracy of the second, means over seeds."""

    mean: float
    interval: tuple[float, float]  # 95 %

    @property
    def is_decided(self) -> bool:
        """Tells whether the interval excludes zero."""
        return self.interval[0] > 0 or self.interval[1] < 0


@dataclass(frozen=True)
class McNemar:
    """Compares two models on the same examples by McNemar's exact test of whether they are equally good.

    The test takes examples as independent. Those of one statement tend to be right or wrong together, so `p` tends
    to be too small where statements have several examples; the interval of `difference` accounts for that.
    """

    both: int
    only_first: int
    only_second: int
    neither: int

    @property
    def p(self) -> float:
        """Returns how likely coins would split the examples that only one model gets right at least as unevenly."""
        tosses, fewer = self.only_first + self.only_second, min(self.only_first, self.only_second)
        tail = sum(math.comb(tosses, heads) for heads in range(fewer + 1))  # exact: whole numbers
        return min(1.0, float(2 * tail / 2**tosses))


def mcnemar(examples: Sequence[Example], first: Verdicts, second: Verdicts) -> McNemar:
    """Counts how often two models are right on the same examples."""
    one, other = correct(examples, first), correct(examples, second)
    pairs = ((one & other), (one & ~other), (~one & other), (~one & ~other))
    return McNemar(*(int(pair.sum()) for pair in pairs))


def difference(
    examples: Sequence[Example], first: Sequence[Verdicts], second: Sequence[Verdicts], *, seed: int = 0
) -> Difference:
    """Compares two models by their verdicts, one mapping per training seed.

    The bootstrap resamples each model's seeds, and statements, since the examples of a statement tend to be right or
    wrong together. Both models judge the same examples, so they share the resampled statements.
    """
    sizes = per_statement(examples, np.ones(len(examples)))
    rng = np.random.default_rng(seed)
    weights = _resample(rng, len(sizes))  # (resample, statement)
    means, resampled = [], []
    for verdicts_by_seed in (first, second):
        # (seed, statement): the number of correct examples
        right = np.stack([per_statement(examples, correct(examples, verdicts)) for verdicts in verdicts_by_seed])
        seeds = _resample(rng, len(right)) / len(right)
        means.append(right.sum() / len(right) / sizes.sum())
        resampled.append((seeds @ right * weights).sum(axis=1) / (weights @ sizes))
    low, high = np.quantile(resampled[0] - resampled[1], [0.025, 0.975])
    return Difference(float(means[0] - means[1]), (float(low), float(high)))


def _resample(rng: np.random.Generator, count: int) -> np.ndarray:
    """(resample, element): how often each of `count` elements is drawn in `count` draws with replacement."""
    return rng.multinomial(count, np.full(count, 1 / count), size=RESAMPLES)
