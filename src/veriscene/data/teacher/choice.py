"""Which scenes a statement is taught on."""

from __future__ import annotations

import numpy as np

from veriscene.language.bulk.arrays import Array


class Choice:
    """Scenes of which the truth of one statement is known: first those of the corpus, then `fresh` ones."""

    def __init__(self, truths: Array, corpus: int, generated: float) -> None:
        self.truths, self.generated = truths, generated
        numbers = [np.flatnonzero(truths == label) for label in (False, True)]
        self.numbers = [(some[some < corpus], some[some >= corpus]) for some in numbers]

    @property
    def has_both(self) -> bool:
        return bool(self.truths.any() and not self.truths.all())

    def draw(self, rng: np.random.Generator, label: bool, count: int) -> Array:
        """That many scenes with this label, or none if there are none. Repeats a scene only if there are too few."""
        old, new = self.numbers[label]
        if not len(old) + len(new):
            return old
        fresh = count if not len(old) else rng.binomial(count, self.generated) if len(new) else 0
        return np.concatenate([sample(rng, old, count - fresh), sample(rng, new, fresh)])

    def balanced(self, rng: np.random.Generator, count: int) -> Array:
        """Half true, half false, as far as both exist."""
        found = [self.draw(rng, label, count // 2) for label in (False, True)]
        return np.concatenate(found)

    def fill(self, rng: np.random.Generator, count: int, paired: Array, labels: Array) -> tuple[Array, Array]:
        """The pairs' scenes and so many others that there are `count`, half of them true as far as possible."""
        trues = (count + int(rng.integers(2))) // 2
        parts, part_labels = [paired], [labels]
        for label, total in ((True, trues), (False, count - trues)):
            missing = max(0, total - int((labels == label).sum()))
            drawn = self.draw(rng, label, missing)
            if not len(drawn):  # none is known but what edits led to
                drawn = sample(rng, paired[labels == label], missing)
            parts.append(drawn)
            part_labels.append(np.full(len(drawn), label))
        which, truths = np.concatenate(parts), np.concatenate(part_labels)
        if len(which) < count:  # it is true of all known scenes, or of none
            label = bool(self.truths.any())
            which = np.concatenate([which, self.draw(rng, label, count - len(which))])
            truths = np.concatenate([truths, np.full(count - len(truths), label)])
        return which[:count], truths[:count]


def sample(rng: np.random.Generator, numbers: Array, count: int) -> Array:
    """That many of the numbers, as different as possible; none if there are none."""
    if not len(numbers) or not count:
        return numbers[:0]
    if count <= len(numbers):
        return rng.choice(numbers, count, replace=False)
    return numbers[rng.permutation(np.arange(count) % len(numbers))]
