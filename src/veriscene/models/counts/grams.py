"""The n-grams of statements, n = 2 … 6, as keys of 64 bits; and what the words among them count to.

A key depends on the words alone, neither on the batch nor on the device. Grams of different words, or of the same
words around another hole, have different keys but for a chance of 2^-64.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from veriscene.tensors.batch import Batch
from veriscene.tensors.vocabulary import PADDING, Vocabulary

_LENGTHS = range(2, 7)
# The kinds of grams: where the words stand, as seen from the place that a gram is said to have.
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
    """(word,), int64: what each word of the vocabulary counts to, or NO_NUMBER."""
    return torch.tensor([_number_of(word) for word in words.words], dtype=torch.int64)


def _number_of(word: str) -> int:
    if word.isdecimal():
        return int(word) if len(word) < 10 else _MANY  # no scene's counts come near it
    return _NUMBERS.get(word, NO_NUMBER)


class Grams(nn.Module):
    """The grams of some kinds, at each word that they are said to stand at."""

    def __init__(self, kinds: Sequence[Sequence[int]]) -> None:
        super().__init__()
        furthest = max(abs(offset) for kind in kinds for offset in kind)
        self.offsets = range(-furthest, furthest + 1)
        belongs = torch.tensor([[offset in kind for offset in self.offsets] for kind in kinds])
        self.register_buffer("belongs", belongs[:, None], persistent=False)  # (kind, 1, offset)
        self.belongs: Tensor

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Keys (batch, kind, word), int64, and where the same gram stands, (batch, kind, word, word), bool.

        A gram that would reach beyond its statement is not even the same as itself.
        """
        words = batch.words.masked_fill(~batch.word_mask, PADDING)
        around = pad(words, (-self.offsets[0], self.offsets[-1]), value=PADDING).unfold(1, len(self.offsets), 1)
        # A word means another thing at another offset. Mixed numbers stay mixed when they are added up.
        codes = _mix(around * len(self.offsets) + torch.arange(len(self.offsets), device=words.device))
        keys = codes[:, None].masked_fill(~self.belongs, 0).sum(dim=-1)
        whole = ((around != PADDING)[:, None] | ~self.belongs).all(dim=-1)
        return keys, (keys[..., :, None] == keys[..., None, :]) & whole[..., :, None] & whole[..., None, :]


def _mix(number: Tensor) -> Tensor:
    """64 bits without structure, as SplitMix64 ends; products wrap around, as they should."""
    for shift, odd in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        number = (number ^ _shifted(number, shift)) * (odd - (1 << 64))
    return number ^ _shifted(number, 31)


def _shifted(number: Tensor, bits: int) -> Tensor:
    """To the right, with zeros coming in, where torch would bring in the sign."""
    return (number >> bits) & ((1 << (64 - bits)) - 1)
