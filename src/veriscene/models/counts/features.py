"""The features of MaxEnt and MLP: a statement's grams in conjunction with what holds of the scene.

A number-gram, an n-gram whose number word is cut out, meets each count of the scene that agrees with the number. A
plain n-gram meets each look of the scene. The conjunctions that occur in the training corpus are the features.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from veriscene.models.counts.grams import NO_NUMBER, NUMBER_GRAMS, PLAIN_GRAMS, Grams, numbers_of
from veriscene.models.counts.growing import loads_any_length
from veriscene.models.counts.scene_counts import AGREEMENTS, LOOKS, agreements, looks, quantities
from veriscene.tensors.batch import Batch
from veriscene.tensors.items import Items
from veriscene.tensors.vocabulary import Vocabulary

NO_FEATURE = 0
_NO_GRAM = torch.iinfo(torch.int64).min
_CHUNK = 256  # examples at once, to bound the memory


class CountFeatures(nn.Module):
    """Knows no feature before `learn`. Only there is the device asked anything; `forward` can be recorded."""

    def __init__(self, *, words: Vocabulary) -> None:
        super().__init__()
        self.register_buffer("numbers", numbers_of(words), persistent=False)
        self.numbers: Tensor
        self.number_grams, self.plain_grams = Grams(NUMBER_GRAMS), Grams(PLAIN_GRAMS)
        self.counts, self.looks = Conjunctions(AGREEMENTS), Conjunctions(LOOKS)

    def forward(self, batch: Batch) -> Tensor:
        """The numbers of each example's features, each once, among many NO_FEATURE: (batch, place), int32."""
        of_counts, of_looks = self._meetings(batch)
        return torch.cat([self.counts(*of_counts), self.looks(*of_looks)], dim=1)

    def learn(self, corpus: Batch) -> int:
        """Numbers the conjunctions that occur in the corpus from NO_FEATURE + 1 on; gives the first number left."""
        seen = [[_merged(*meeting) for meeting in self._meetings(chunk)] for chunk in self.chunks(corpus)]
        of_counts, of_looks = zip(*seen, strict=True)
        return self.looks.learn(of_looks, first=self.counts.learn(of_counts, first=NO_FEATURE + 1))

    def chunks(self, corpus: Batch) -> Iterator[Batch]:
        """The corpus in parts, in order, on this module's device."""
        for start in range(0, len(corpus), _CHUNK):
            yield corpus[start : start + _CHUNK].to(self.numbers.device)

    def _meetings(self, batch: Batch) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        """Of number-grams with counts and of plain grams with looks: keys and what they meet, each gram once."""
        items, values = Items.of(batch), self.numbers[batch.words]
        agree = agreements(values, *quantities(items, batch)) & (values != NO_NUMBER)[..., None]
        look = looks(items, batch)[:, None].expand(-1, batch.words.size(1), -1)
        return _once(self.number_grams(batch), agree), _once(self.plain_grams(batch), look)


class Conjunctions(nn.Module):
    """A table of grams by predicates: the number of the feature that a conjunction of the two is."""

    def __init__(self, predicates: int) -> None:
        super().__init__()
        # Sorted. The first is no gram and has no features: a table that has learnt nothing can be looked into too.
        self.register_buffer("grams", torch.full((1,), _NO_GRAM))
        self.register_buffer("features", torch.full((1, predicates), NO_FEATURE, dtype=torch.int32))
        self.grams: Tensor
        self.features: Tensor
        loads_any_length(self)

    def forward(self, keys: Tensor, met: Tensor) -> Tensor:
        """keys (batch, kind, word), met (batch, kind, word, predicate) -> feature numbers (batch, place)."""
        place = torch.searchsorted(self.grams, keys).clamp(max=len(self.grams) - 1)
        known = self.grams[place] == keys
        return self.features[place].masked_fill(~(met & known[..., None]), NO_FEATURE).flatten(1)

    def learn(self, seen: Sequence[tuple[Tensor, Tensor]], *, first: int) -> int:
        """Numbers all conjunctions in `seen`, from `first` on, by gram and predicate; gives the first number left."""
        grams, met = _merged(*(torch.cat(parts) for parts in zip(*seen, strict=True)))
        numbers = met.flatten().cumsum(dim=0, dtype=torch.int32).view(met.shape) + first - 1
        self.grams = torch.cat([grams.new_tensor([_NO_GRAM]), grams])
        none = numbers.new_full((1, met.size(-1)), NO_FEATURE)
        self.features = torch.cat([none, numbers.masked_fill(~met, NO_FEATURE)])
        return first + int(met.sum())


def _once(grams: tuple[Tensor, Tensor], met: Tensor) -> tuple[Tensor, Tensor]:
    """Keys (batch, kind, word) and what each gram meets, (batch, kind, word, predicate), told at its first place only.

    `grams` are keys and where the same one stands; `met` (batch, word, predicate) is what is met at a word. A gram that
    stands at several places, with other numbers there, meets what it meets at any of them.
    """
    keys, same = grams
    anywhere = same.float() @ met.float()[:, None] > 0
    earlier = torch.ones(same.shape[-2:], dtype=torch.bool, device=same.device).tril(-1)
    return keys, anywhere & ~(same & earlier).any(dim=-1, keepdim=True)


def _merged(keys: Tensor, met: Tensor) -> tuple[Tensor, Tensor]:
    """keys (…), met (…, predicate) -> the keys that meet anything, sorted, and what each of them meets."""
    meeting = met.any(dim=-1)
    grams, which = torch.unique(keys[meeting], return_inverse=True)
    times = torch.zeros(len(grams), met.size(-1), dtype=torch.int32, device=met.device)
    return grams, times.index_add_(0, which, met[meeting].int()) > 0
