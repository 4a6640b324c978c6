"""A reader turns a statement into a program: a network writes the tokens of language/tokens.py, one after the other.

A word is the sum of its own vector and those of its letter n-grams, so that a misspelt or unknown word is still near
the words that look like it. Here is all but the network, which runs in torch (models/reader.py) or in ONNX Runtime.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from veriscene import files, worlds
from veriscene.english.reading import reading_of
from veriscene.english.words import NUMBERS
from veriscene.errors import InputError, first_line
from veriscene.language.expression import compares_itself
from veriscene.language.language import Language
from veriscene.language.program import Program
from veriscene.language.tokens import VALUE, arity, program_of
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
# Of a file that is no reader.
FILE_ERRORS = (SafetensorError, LookupError, TypeError, ValueError, RuntimeError, OSError)
CACHED = 4096  # readings of the most recent statements
# Share of the dialect from which on a network decides alone; readers, taught with smoothed labels, say at most 0.985.
SURE_DIALECT = 0.9
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+(?:\.\d+)?|[^\w\s]")
# Not a range (2-3), nor a dash: "three blocks -2 of them black".
_NEGATIVE = re.compile(
    r"(?:^|\(|\b(?:is|are|has|have|with|holds?|contains?|only|just|than|least|most|exactly|of|to|by|equals?)\s)"
    rf"\s*(?:[-−–]\d|minus (?:\d|(?:{'|'.join(NUMBERS)})\b))",
    re.IGNORECASE,
)
# What signs stand for. Three numbers in a row, 2-2-1, are a list and no range.
_RANGE = re.compile(r"(?<![\d.–-])(\d+)[–-](\d+)(?![\d.–-])")
_SIGNS = {"<=": "at most", "≤": "at most", ">=": "at least", "≥": "at least", "<": "fewer than", ">": "more than"}
_SIGN = re.compile(r"(<=|>=|[<>≤≥])(?=\d)")
_QUOTED = re.compile(r"\s*(['*`_]{1,2})(?=\w)(.*)(?<=[\w.?!])\1\s*", re.DOTALL)
# Larger numbers are rare where readers learn, and a few look like small ones: "sixteen" and "six".
LARGEST_USUAL_NUMBER = 12
_TENS = dict(zip(("thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"), range(30, 100, 10), strict=True))
_LARGE = {word: number for number, word in enumerate(NUMBERS) if number > LARGEST_USUAL_NUMBER}
_LARGE |= _TENS | {"hundred": 100, "thousand": 1000, "million": 1000000}


def has_negative_number(text: str) -> bool:
    """Returns whether a statement has a negative number."""
    return _NEGATIVE.search(text) is not None


def large_numbers(words: Sequence[str]) -> set[int]:
    """Returns the numbers above twelve among the words of a statement; none if they are percentages."""
    if {"%", "percent", "cent"} & set(words):
        return set()
    found = (_LARGE.get(word, int(word[:9]) if word.isdecimal() and word.isascii() else 0) for word in words)
    return {number for number in found if number > LARGEST_USUAL_NUMBER}


def split_words(text: str) -> list[str]:
    """Returns the words, numbers and signs of a statement, in lower case. Some signs become words: "2-3" and "<3"."""
    text = text.lower().replace("’", "'")
    if quoted := _QUOTED.fullmatch(text):
        text = quoted[2]
    text = _SIGN.sub(lambda found: f" {_SIGNS[found[1]]} ", _RANGE.sub(r"\1 to \2", text))
    return _WORD.findall(text)


@dataclass(frozen=True)
class ReaderConfig:
    """States the sizes of a reader; `words` and `tokens` follow from what it is taught."""

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
    """Says what a reader understood. Without a program, it understood nothing that can be seen in a scene."""

    program: Program | None
    certainty: float  # probability of the least certain token of the program
    dialect: float  # probability that it is worded in the corpus's dialect,
    outside: float  # and that it is about something else
    is_brief: bool = False  # whether its program was not asked for, if it is in dialect

    def in_brief(self) -> Reading:
        """Returns what is read where the program is not asked for, whether or not it is known."""
        return replace(self, program=None, is_brief=True) if self.dialect > SURE_DIALECT else self

    @cached_property
    def text(self) -> str | None:
        """Returns the program in plain words."""
        return None if self.program is None else reading_of(self.program)


NOT_UNDERSTOOD = Reading(None, certainty=0.0, dialect=0.0, outside=1.0)


class ProgramReader:
    """Knows words, tokens and language of a network that writes programs, whatever runs the network."""

    threads = 1  # groups that are read at the same time
    grammar: int | None = None  # the version that taught it, if that is known
    group = 32  # statements that are read together; larger groups need more padding and overflow the caches

    def __init__(self, config: ReaderConfig, words: Sequence[str], tokens: Sequence[str], language: Language) -> None:
        """`words`: without padding and the unknown word, which come first."""
        self.config, self.words, self.tokens, self.language = config, tuple(words), tuple(tokens), language
        self.numbers = {word: number for number, word in enumerate(words, 2)}
        self._known: OrderedDict[str, Reading] = OrderedDict()  # the most recent last
        count = len(SPECIAL_TOKENS)
        self._arities = np.array([1] * count + [arity(token) for token in tokens[count:]])
        number = np.arange(len(tokens))
        self._is_style, self._is_end = (number >= 3) & (number < count), number == END
        self._is_program = number >= count

    def save(self, path: Path) -> None:
        """Writes one file with all that is needed to load it again."""
        raise NotImplementedError

    def write(self, words: Array, ngrams: Array, is_brief: Array | None = None) -> tuple[Array, Array, Array]:
        """Returns the most probable tokens (batch, token), one by one; the least probability of those after the first;
        and the log probabilities of all first tokens.

        The first token is a style. A program follows, which ends as soon as it has all its arguments and not before;
        after OUTSIDE there is none, nor, where `is_brief` (batch,), after one that is surely DIALECT.
        """
        is_brief = np.zeros(len(words), bool) if is_brief is None else is_brief
        lengths = (ngrams[..., 0] != 0).sum(1)
        tokens = np.full((len(words), self.config.max_tokens - 1), PAD)
        least, first = np.ones(len(words), np.float32), np.zeros((len(words), self.config.tokens), np.float32)
        by_length = lengths.argsort(kind="stable")

        def write_group(start: int) -> None:
            rows = by_length[start : start + self.group]
            longest = max(1, lengths[rows].max())
            written = self._write(words[rows, :longest], ngrams[rows, :longest], is_brief[rows])
            tokens[rows], least[rows], first[rows] = written

        starts = range(0, len(words), self.group)
        if self.threads == 1 or len(starts) == 1:
            any(map(write_group, starts))
        else:
            with ThreadPoolExecutor(self.threads) as pool:
                any(pool.map(write_group, starts))
        return tokens[:, : max(1, (tokens != PAD).any(0).sum())], least, first

    def _write(self, words: Array, ngrams: Array, is_brief: Array) -> tuple[Array, Array, Array]:
        """Does what `write` does, for statements that are read together; tokens are padded to their largest number."""
        raise NotImplementedError

    def _begun(self, first: Array, is_brief: Array) -> tuple[Array, Array]:
        """The log probabilities of first tokens -> tokens (batch, token), of which only the styles are written, and how
        many expressions the programs lack (batch,): 0 before the end, -1 after it."""
        tokens = np.full((len(first), self.config.max_tokens - 1), PAD)
        tokens[:, 0] = np.where(self._is_style, first, -np.inf).argmax(1)
        missing = np.where(tokens[:, 0] == SPECIAL_TOKENS.index(OUTSIDE), 0, 1)
        missing[is_brief & is_surely_dialect(first)] = -1
        return tokens, missing

    def knows(self, word: str) -> bool:
        """Says whether it was taught the word; signs and numbers count as known."""
        return not any(letter.isalpha() for letter in word) or all(part in self.numbers for part in split_words(word))

    def read(self, statements: Sequence[str], brief: Collection[str] = ()) -> list[Reading]:
        """Returns what each statement says, without the program of those in `brief` that are in dialect, which takes
        most of the time. The most recent readings are cached."""
        found = {text: self._known[text] for text in statements if text in self._known}
        found = {text: reading for text, reading in found.items() if text in brief or not reading.is_brief}
        if new := [text for text in dict.fromkeys(statements) if text not in found]:
            found |= zip(new, self._read(new, brief), strict=True)
        for text, reading in found.items():
            self._known[text] = reading
            self._known.move_to_end(text)
        while len(self._known) > CACHED:
            self._known.popitem(last=False)
        return [found[text] for text in statements]

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

    def _read(self, statements: Sequence[str], brief: Collection[str]) -> list[Reading]:
        split = [split_words(text)[: self.config.max_words] for text in statements]
        is_brief = np.array([text in brief for text in statements])
        numbers, certainty, first = self.write(*self.numbered(split), is_brief)
        is_brief &= is_surely_dialect(first)
        dialect, outside = (np.exp(first[:, SPECIAL_TOKENS.index(style)]).tolist() for style in (DIALECT, OUTSIDE))
        rows, is_short = numbers.tolist(), is_brief.tolist()
        readings = [
            Reading(self._program(row), *rest)
            for row, *rest in zip(rows, certainty.tolist(), dialect, outside, is_short, strict=True)
        ]
        for at, words in enumerate(split):
            said = large_numbers(words)
            if said and not is_short[at] and not said <= self._numbers_in(rows[at]):
                readings[at] = NOT_UNDERSTOOD
        if self.language.has_signs:
            return readings
        # Taught no negative numbers, it would take -1 for 1.
        pairs = zip(statements, readings, strict=True)
        return [NOT_UNDERSTOOD if has_negative_number(text) else reading for text, reading in pairs]

    def _numbers_in(self, row: list[int]) -> set[int]:
        """The whole numbers in a program."""
        written = (self.tokens[token].removeprefix(VALUE) for token in row)
        return {int(text) for text in written if text.isdecimal()}

    def _program(self, numbers: list[int]) -> Program | None:
        if END not in numbers:
            return None
        tokens = [self.tokens[number] for number in numbers[1 : numbers.index(END)]]
        try:
            program = program_of(tokens, self.language)
        except InputError:
            return None
        return None if compares_itself(program.expression) else program


def is_surely_dialect(first: Array) -> Array:
    """(batch, number of tokens), the log probabilities of first tokens -> (batch,) bool."""
    sure: Array = np.exp(first[:, SPECIAL_TOKENS.index(DIALECT)]) > SURE_DIALECT
    return sure


def read_file(path: Path) -> tuple[Any, ReaderConfig, dict[str, Array]]:
    """Returns what a reader's file says about itself, its sizes and its weights as they are stored; raises ValueError,
    or another of the exceptions that FILE_ERRORS names, if they do not fit together."""
    with safe_open(path, "np") as stored:
        about: Any = files.parse_json(stored.metadata()["reader"])
        weights = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
    config, words, tokens = ReaderConfig(**about["config"]), about["words"], about["tokens"]
    if (len(words) + 2, len(tokens)) != (config.words, config.tokens):
        raise ValueError("its words are not those of its weights")
    if not all(isinstance(name, str) for name in (*words, *tokens)) or tuple(tokens[:6]) != SPECIAL_TOKENS:
        raise ValueError("its tokens are not those of a reader")
    sizes = [size for name, size in asdict(config).items() if name != "dropout"]
    if not all(type(size) is int and size > 0 for size in sizes) or config.dim % config.heads:
        raise ValueError("its sizes are wrong")
    tables = {"word": config.words, "ngram": config.ngrams, "token": config.tokens}
    tables |= {"word_place": config.max_words, "token_place": config.max_tokens}
    are_stated = all(weights[f"{name}.weight"].shape == (size, config.dim) for name, size in tables.items())
    # No memory is allocated for other sizes than those of the file's weights.
    if not are_stated or config.layers > len(weights):
        raise ValueError("its sizes are not those of its weights")
    if config.feedforward * config.dim > sum(weight.size for weight in weights.values()):
        raise ValueError("its sizes are not those of its weights")
    if not all(bool(np.isfinite(weight).all()) for weight in weights.values()):
        raise ValueError("a weight is not finite")
    return about, config, weights


def language_of(about: Mapping[str, Any], path: Path) -> Language:
    """Returns the language of the programs, from what a reader's file says about itself."""
    return worlds.language(world_of(about["world"], where=str(path)))


def invalid_reader(path: Path, error: Exception) -> InputError:
    allowed = "give a file that `veriscene train-reader` wrote"
    return InputError(f"is no reader ({first_line(error)!r:.80})", where=path, allowed=allowed)
