"""The features of MaxEnt and MLP: conjunctions of a statement's n-grams with predicates of the scene.

A number-gram, an n-gram whose number word is cut out, is paired with each count of the scene that agrees with the
number. A plain n-gram is paired with each look of the scene. The pairs in the training corpus are the features.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from veriscene.data.batch import Batch, required
from veriscene.data.items import Attributes
from veriscene.data.vocabulary import Vocabulary
from veriscene.models.base import resize_on_load
from veriscene.models.counts.grams import NO_NUMBER, NUMBER_GRAMS, PLAIN_GRAMS, Grams, numbers_of
from veriscene.models.counts.scene_counts import agreement_count, agreements, look_count, looks, quantities
from veriscene.world.schema import World

NO_FEATURE = 0
_NO_GRAM = torch.iinfo(torch.int64).min
_CHUNK = 256  # examples at once, to bound the memory


class CountFeatures(nn.Module):
    """Has no features before `learn`. Only `learn` synchronises with the device; `forward` can be captured."""

    def __init__(self, vocabulary: Vocabulary, world: World) -> None:
        super().__init__()
        self.world = world
        self.register_buffer("numbers", numbers_of(vocabulary), persistent=False)
        self.numbers: Tensor
        self.number_grams, self.plain_grams = Grams(NUMBER_GRAMS), Grams(PLAIN_GRAMS)
        self.counts, self.looks = Conjunctions(agreement_count(world)), Conjunctions(look_count(world))

    def forward(self, batch: Batch) -> Tensor:
        """The indices of each example's features, each once, padded with NO_FEATURE: (batch, place), int32."""
        of_counts, of_looks = self._pairs(batch)
        return torch.cat([self.counts(*of_counts), self.looks(*of_looks)], dim=1)

    def learn(self, corpus: Batch) -> int:
        """Numbers the conjunctions in the corpus from NO_FEATURE + 1 on; returns the first unused number."""
        seen = [[_merged(*pair) for pair in self._pairs(chunk)] for chunk in self.chunks(corpus)]
        of_counts, of_looks = zip(*seen, strict=True)
        return self.looks.learn(of_looks, first=self.counts.learn(of_counts, first=NO_FEATURE + 1))

    def chunks(self, corpus: Batch) -> Iterator[Batch]:
        """The corpus in chunks, in order, on this module's device."""
        for start in range(0, len(corpus), _CHUNK):
            yield corpus[start : start + _CHUNK].to(self.numbers.device)

    def _pairs(self, batch: Batch) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        """Number-grams with counts, plain grams with looks: keys and the predicates that hold, each gram once."""
        items, statement = required(batch.items), batch.statement
        seen, values = Attributes.of(items, self.world), self.numbers[statement.words]
        counted = quantities(seen, items, self.world)
        agree = agreements(values, *counted, items.box_mask) & (values != NO_NUMBER)[..., None]
        look = looks(seen, items.mask, self.world)[:, None].expand(-1, statement.words.size(1), -1)
        return _once(self.number_grams(statement), agree), _once(self.plain_grams(statement), look)


class Conjunctions(nn.Module):
    """A table of grams by predicates: the feature number of each conjunction."""

    def __init__(self, predicates: int) -> None:
        super().__init__()
        # Sorted. The first is no gram and has no features, so an empty table can be searched too.
        self.register_buffer("grams", torch.full((1,), _NO_GRAM))
        self.register_buffer("features", torch.full((1, predicates), NO_FEATURE, dtype=torch.int32))
        self.grams: Tensor
        self.features: Tensor
        resize_on_load(self)

    def forward(self, keys: Tensor, met: Tensor) -> Tensor:
        """keys (batch, kind, word), met (batch, kind, word, predicate) -> feature numbers (batch, place)."""
        place = torch.searchsorted(self.grams, keys).clamp(max=len(self.grams) - 1)
        known = self.grams[place] == keys
        return self.features[place].masked_fill(~(met & known[..., None]), NO_FEATURE).flatten(1)

    def learn(self, seen: Sequence[tuple[Tensor, Tensor]], *, first: int) -> int:
        """Numbers all conjunctions in `seen`, from `first` on, by gram and predicate; returns the next free number."""
        grams, met = _merged(*(torch.cat(parts) for parts in zip(*seen, strict=True)))
        numbers = met.flatten().cumsum(dim=0, dtype=torch.int32).view(met.shape) + first - 1
        self.grams = torch.cat([grams.new_tensor([_NO_GRAM]), grams])
        none = numbers.new_full((1, met.size(-1)), NO_FEATURE)
        self.features = torch.cat([none, numbers.masked_fill(~met, NO_FEATURE)])
        return first + int(met.sum())


def _once(grams: tuple[Tensor, Tensor], met: Tensor) -> tuple[Tensor, Tensor]:
    """Keys (batch, kind, word) and each gram's predicates, (batch, kind, word, predicate), at its first place only.

    `grams` are keys and where the same gram occurs; `met` (batch, word, predicate) are the predicates at a word. A gram
    that occurs several times, with different numbers, has the predicates of all its places.
    """
    keys, same = grams
    anywhere = same.float() @ met.float()[:, None] > 0
    earlier = torch.ones(same.shape[-2:], dtype=torch.bool, device=same.device).tril(-1)
    return keys, anywhere & ~(same & earlier).any(dim=-1, keepdim=True)


def _merged(keys: Tensor, met: Tensor) -> tuple[Tensor, Tensor]:
    """keys (…), met (…, predicate) -> the keys with any predicate, sorted, and the predicates of each."""
    paired = met.any(dim=-1)
    grams, which = torch.unique(keys[paired], return_inverse=True)
    times = torch.zeros(len(grams), met.size(-1), dtype=torch.int32, device=met.device)
    return grams, times.index_add_(0, which, met[paired].int()) > 0
