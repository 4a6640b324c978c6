"""Words, their numbers and their letters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from veriscene.errors import InputError
from veriscene.world.examples import WORD

PADDING = 0
UNKNOWN = 1
SPECIAL = ("<pad>", "<unk>")

# Fixed, so that batches of any examples have the same shape. Longer words keep their beginning; the longest of NLVR has
# eleven letters.
MOST_LETTERS = 16
CODES = 128  # ASCII; zero beyond a word's end
FOREIGN = 127  # of every other character


def spell(words: Sequence[str]) -> NDArray[np.uint8]:
    """Returns the code of each letter, (word, MOST_LETTERS); longer words keep only their beginning.

    For models that read spelling: misspelt words are unknown as words, but not as letters."""
    text = "".join(word[:MOST_LETTERS].ljust(MOST_LETTERS, "\0") for word in words)
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32).reshape(len(words), MOST_LETTERS)
    return np.where(codes < CODES, codes, FOREIGN).astype(np.uint8)


def tokenize(statement: str) -> list[str]:
    """Returns lower-case words, numbers and punctuation marks, in order; at least one unless the text is blank."""
    return WORD.findall(statement.lower())


@dataclass(frozen=True)
class Vocabulary:
    words: tuple[str, ...]

    def __post_init__(self) -> None:
        if not all(isinstance(word, str) for word in self.words):
            raise InputError("a vocabulary must be a list of words")
        if self.words[: len(SPECIAL)] != SPECIAL:
            raise InputError(f"a vocabulary must begin with {' and '.join(SPECIAL)}")
        repeated = [word for word, count in Counter(self.words).items() if count > 1]
        if repeated:
            raise InputError(f"the vocabulary lists {repeated[0]!r} twice", allowed="each word must occur once")

    @classmethod
    def of(cls, statements: Iterable[str], *, minimum_count: int, counting: str = "statements") -> Vocabulary:
        """Returns the words that occur at least `minimum_count` times; all others become UNK (appendix A.3.1).

        `statements` holds one text for each example. With `counting` "statements", equal texts count once; with
        "examples", each of them counts. NLVR repeats each of its statements for up to four scenes, so counting
        examples, as the paper's sentence literally says, keeps 224 of train's 229 words (counting statements keeps
        133), and UNK is hardly trained.
        """
        counted = statements if counting == "examples" else set(statements)
        counts = Counter(word for statement in counted for word in tokenize(statement))
        kept = sorted(word for word, count in counts.items() if count >= minimum_count)
        return cls((*SPECIAL, *kept))

    @cached_property
    def _number_of(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    def encode(self, statement: str) -> list[int]:
        return self.numbers(tokenize(statement))

    def numbers(self, words: Iterable[str]) -> list[int]:
        return [self._number_of.get(word, UNKNOWN) for word in words]

    def knows(self, text: str) -> bool:
        """Returns whether no word of a text becomes UNK. Signs are no words."""
        return all(map(self.knows_word, tokenize(text)))

    def knows_word(self, word: str) -> bool:
        """Returns whether a lower-case word is not UNK; signs are no words, and a text of several may be one."""
        return word in self._number_of or (not word.isalnum() and (len(word) == 1 or self.knows(word)))

    def coverage(self, statements: Iterable[str]) -> float:
        """Returns the share of the statements' words that the vocabulary contains."""
        numbers = [number for statement in statements for number in self.encode(statement)]
        return sum(number != UNKNOWN for number in numbers) / max(1, len(numbers))

    def __len__(self) -> int:
        return len(self.words)
