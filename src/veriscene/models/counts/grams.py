"""The n-grams of statements, n = 2 … 6, as 64-bit keys, and the numbers that words denote.

A key depends only on the words, not on the batch or the device. Grams of different words, or of the same words around
another gap, have different keys except with probability 2^-64.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from veriscene.data.batch import Statement
from veriscene.data.vocabulary import PADDING, Vocabulary

_LENGTHS = range(2, 7)
# The kinds of grams: the offsets of their words from the gram's own place.
NUMBER_GRAMS = tuple(
    tuple(offset for offset in range(-hole, length - hole) if offset) for length in _LENGTHS for hole in range(length)
)
PLAIN_GRAMS = tuple(tuple(range(length)) for length in _LENGTHS)

_NUMBER_WORDS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen"),
)
_NUMBERS = {word: number for number, word in enumerate(_NUMBER_WORDS)} | {"no": 0, "a": 1}
NO_NUMBER = -1
_MANY = 10**9


def numbers_of(words: Vocabulary) -> Tensor:
    """(word,), int64: the number that each word of the vocabulary denotes, or NO_NUMBER."""
    return torch.tensor([_number_of(word) for word in words.words], dtype=torch.int64)


def _number_of(word: str) -> int:
    if word.isdecimal():
        return int(word) if len(word) < 10 else _MANY  # above any count of a scene
    return _NUMBERS.get(word, NO_NUMBER)


class Grams(nn.Module):
    """The grams of some kinds, at each word."""

    def __init__(self, kinds: Sequence[Sequence[int]]) -> None:
        super().__init__()
        furthest = max(abs(offset) for kind in kinds for offset in kind)
        self.offsets = range(-furthest, furthest + 1)
        belongs = torch.tensor([[offset in kind for offset in self.offsets] for kind in kinds])
        self.register_buffer("belongs", belongs[:, None], persistent=False)  # (kind, 1, offset)
        self.belongs: Tensor

    def forward(self, statement: Statement) -> tuple[Tensor, Tensor]:
        """Keys (batch, kind, word), int64, and where the same gram occurs, (batch, kind, word, word), bool.

        A gram that would reach beyond its statement does not equal even itself.
        """
        words = statement.words.masked_fill(~statement.mask, PADDING)
        around = pad(words, (-self.offsets[0], self.offsets[-1]), value=PADDING).unfold(1, len(self.offsets), 1)
        # The same word at another offset gets another code. Sums of mixed numbers are mixed too.
        codes = _mix(around * len(self.offsets) + torch.arange(len(self.offsets), device=words.device))
        keys = codes[:, None].masked_fill(~self.belongs, 0).sum(dim=-1)
        whole = ((around != PADDING)[:, None] | ~self.belongs).all(dim=-1)
        return keys, (keys[..., :, None] == keys[..., None, :]) & whole[..., :, None] & whole[..., None, :]


def _mix(number: Tensor) -> Tensor:
    """A 64-bit hash without structure (the finaliser of SplitMix64); products wrap around on purpose."""
    for shift, odd in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        number = (number ^ _shifted(number, shift)) * (odd - (1 << 64))
    return number ^ _shifted(number, 31)


def _shifted(number: Tensor, bits: int) -> Tensor:
    """A logical shift to the right; torch's is arithmetic."""
    return (number >> bits) & ((1 << (64 - bits)) - 1)
