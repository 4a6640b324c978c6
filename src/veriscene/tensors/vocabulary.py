"""Words and their numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

PADDING = 0
UNKNOWN = 1
_SPECIAL = ("<pad>", "<unk>")
_TOKEN = re.compile(r"[^\W\d_]+|\d+|[^\s]")


def tokenize(statement: str) -> list[str]:
    """Lower-case words, numbers and single punctuation marks, in order; at least one unless the text is blank."""
    return _TOKEN.findall(statement.lower())


@dataclass(frozen=True)
class Vocabulary:
    words: tuple[str, ...]

    @classmethod
    def of(cls, statements: Iterable[str], *, minimum_count: int) -> Vocabulary:
        """The words that occur at least `minimum_count` times; all others become UNK (appendix A.3.1).

        A statement counts once, however many scenes it is told of. NLVR repeats each of its statements for up to
        four scenes, so counting examples would keep 224 of train's 229 words (this keeps 133), and UNK would hardly
        be trained.
        """
        counts = Counter(word for statement in sorted(set(statements)) for word in tokenize(statement))
        kept = sorted(word for word, count in counts.items() if count >= minimum_count)
        return cls((*_SPECIAL, *kept))

    @cached_property
    def _number_of(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    def encode(self, statement: str) -> list[int]:
        return [self._number_of.get(word, UNKNOWN) for word in tokenize(statement)]

    def __len__(self) -> int:
        return len(self.words)
