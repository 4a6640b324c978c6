"""A reader turns a statement into a program: a network writes the tokens of language/tokens.py, one after the other.

A word is the sum of its own vector and those of its letter n-grams, so that a misspelt or unknown word is still near
the words that look like it. Here is all but the network, which runs in torch (models/reader.py) or in ONNX Runtime.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from veriscene import worlds
from veriscene.errors import InputError
from veriscene.language.language import Language
from veriscene.language.program import Program
from veriscene.language.tokens import program_of
from veriscene.world.world_file import world_of

Array = NDArray[Any]
# The first token tells how a statement is worded: in plain English, in the dialect of the world's corpus, or as
# something that says nothing about a scene, and then no program follows.
PLAIN, DIALECT, OUTSIDE = "plain", "dialect", "outside"
PAD, START, END = 0, 1, 2  # of program tokens
SPECIAL_TOKENS = ("<pad>", "<s>", "</s>", PLAIN, DIALECT, OUTSIDE)
UNKNOWN = 1  # of words; 0 is padding
MAX_NGRAMS = 20  # of a word
SCALE = ".scale"  # after the name of a matrix in whole numbers
CACHED = 4096  # readings of the most recent statements
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+(?:\.\d+)?|[^\w\s]")


def split_words(text: str) -> list[str]:
    """Returns the words, numbers and signs of a statement, in lower case."""
    return _WORD.findall(text.lower().replace("’", "'"))


@dataclass(frozen=True)
class ReaderConfig:
    """The sizes of a reader; `words` and `tokens` follow from what it is taught."""

    words: int
    tokens: int
    dim: int = 256
    heads: int = 8
    feedforward: int = 1024
    layers: int = 4
    dropout: float = 0.1
    ngrams: int = 8192
    max_words: int = 64
    max_tokens: int = 96


@lru_cache(maxsize=200_000)
def ngrams_of(word: str, buckets: int) -> tuple[int, ...]:
    """Returns the hashed letter n-grams of a word, of two to four letters; 0 is padding."""
    marked = f"<{word}>"
    found = [marked[at : at + n] for n in (3, 4, 2) for at in range(len(marked) - n + 1)]
    numbers = [1 + crc32(each.encode()) % (buckets - 1) for each in dict.fromkeys(found)][:MAX_NGRAMS]
    return tuple(numbers + [0] * (MAX_NGRAMS - len(numbers)))


@dataclass(frozen=True)
class Reading:
    """What a reader understood. Without a program, it understood nothing that can be seen in a scene."""

    program: Program | None
    certainty: float  # probability of the least certain token of the program
    dialect: float  # probability that it is worded in the corpus's dialect,
    outside: float  # and that it is about something else


class ProgramReader(ABC):
    """The words, the tokens and the language of a network that writes programs."""

    def __init__(self, config: ReaderConfig, words: Sequence[str], tokens: Sequence[str], language: Language) -> None:
        """`words`: without padding and the unknown word, which come first."""
        self.config, self.words, self.tokens, self.language = config, tuple(words), tuple(tokens), language
        self.numbers = {word: number for number, word in enumerate(words, 2)}
        self._known: dict[str, Reading] = {}

    @abstractmethod
    def write(self, words: Array, ngrams: Array) -> tuple[Array, Array, Array]:
        """Returns the most probable tokens (batch, token), one by one; the least probability of those after the first;
        and the log probabilities of all first tokens."""

    @abstractmethod
    def save(self, path: Path) -> None:
        """Writes one file with all that is needed to load it again."""

    def knows(self, word: str) -> bool:
        """Whether it was taught the word; signs and numbers count as known."""
        return not any(letter.isalpha() for letter in word) or all(part in self.numbers for part in split_words(word))

    def read(self, statements: Sequence[str]) -> list[Reading]:
        """Returns what each statement says. The most recent readings are cached."""
        if len(self._known) > CACHED:
            self._known.clear()
        if new := [text for text in dict.fromkeys(statements) if text not in self._known]:
            self._known |= zip(new, self._read(new), strict=True)
        return [self._known[text] for text in statements]

    def numbered(self, statements: Sequence[Sequence[str]]) -> tuple[Array, Array]:
        """(batch, place), (batch, place, n-gram), int64: the numbers of the words of each statement, and of their
        n-grams."""
        longest = max(1, *map(len, statements))
        words = np.zeros((len(statements), longest), np.int64)
        ngrams = np.zeros((len(statements), longest, MAX_NGRAMS), np.int64)
        for row, statement in enumerate(statements):
            for place, word in enumerate(statement):
                words[row, place] = self.numbers.get(word, UNKNOWN)
                ngrams[row, place] = ngrams_of(word, self.config.ngrams)
        return words, ngrams

    def _read(self, statements: Sequence[str]) -> list[Reading]:
        split = [split_words(text)[: self.config.max_words] for text in statements]
        numbers, certainty, first = self.write(*self.numbered(split))
        dialect, outside = (np.exp(first[:, SPECIAL_TOKENS.index(style)]).tolist() for style in (DIALECT, OUTSIDE))
        return [
            Reading(self._program(row), *shares)
            for row, *shares in zip(numbers.tolist(), certainty.tolist(), dialect, outside, strict=True)
        ]

    def _program(self, numbers: list[int]) -> Program | None:
        if END not in numbers:
            return None
        tokens = [self.tokens[number] for number in numbers[1 : numbers.index(END)]]
        try:
            return program_of(tokens, self.language)
        except InputError:
            return None


def language_of(about: Mapping[str, Any], path: Path) -> Language:
    """Returns the language of the programs, from what a reader's file says about itself."""
    return worlds.language(world_of(about["world"], where=str(path)))


def invalid_reader(path: Path, error: Exception) -> InputError:
    what = f"is no reader ({next(iter(str(error).splitlines()), type(error).__name__)!r:.80})"
    return InputError(what, where=path, allowed="give a file that `veriscene train-reader` wrote")
