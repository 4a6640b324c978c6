"""MaxEnt and MLP (Suhr et al. 2017): models of pairs of a statement's n-grams and predicates of the scene.

A number-gram, an n-gram whose number word is cut out, is paired with each count of the scene that agrees with the
number. A plain n-gram is paired with each look of the scene. The pairs in the training corpus are the features.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding_bag, pad

from veriscene.config import ModelConfig, number, size
from veriscene.data.batch import Batch, Statement, required
from veriscene.data.items import Attributes, Items
from veriscene.data.vocabulary import PADDING, Vocabulary
from veriscene.errors import InputError, MissingRequirement
from veriscene.models.base import Judgement, Model, Order, check_weights, resize_on_load
from veriscene.models.layers.pooling import Scorer
from veriscene.models.layers.recurrence import xavier_
from veriscene.world.scene import Side
from veriscene.world.schema import Attribute, World

# ---------------------------------------------------------------- n-grams

# The n-grams of statements, n = 2 … 6, as 64-bit keys. A key depends only on the words, not on the batch or the device.
# Grams of different words, or of the same words around another gap, have different keys except with probability 2^-64.

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

    def number_of(word: str) -> int:
        if word.isdecimal():
            return int(word) if len(word) < 10 else _MANY  # above any count of a scene
        return _NUMBERS.get(word, NO_NUMBER)

    return torch.tensor([number_of(word) for word in words.words], dtype=torch.int64)


class Grams(nn.Module):
    """Finds the grams of some kinds, at each word."""

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

    def shifted(number: Tensor, bits: int) -> Tensor:
        """A logical shift to the right; torch's is arithmetic."""
        return (number >> bits) & ((1 << (64 - bits)) - 1)

    for shift, odd in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        number = (number ^ shifted(number, shift)) * (odd - (1 << 64))
    return number ^ shifted(number, 31)


# ---------------------------------------------------------------- scene counts

# The counts of a scene and which of them agree with a number; the looks of a scene, without numbers. In any world, a
# *shade* is a value of the last categorical attribute, and a *kind* a combination of the values of the last two.

_MANY_ITEMS = 10**6  # above any count of a box


def _distinctive(world: World) -> list[Attribute]:
    """At most two attributes, the one whose values are shades first; ordered ones if none is categorical."""
    categorical, ordered = ([a for a in world.attributes if a.kind == kind] for kind in ("categorical", "ordered"))
    return (categorical or ordered)[:-3:-1]


def _shades_and_kinds(items: Attributes, mask: Tensor, world: World) -> tuple[Tensor, Tensor]:
    """(batch, box, item, …), bool."""
    values = [items.values[attribute.name] for attribute in _distinctive(world)]
    shades = values[0] if values else mask[..., None]
    if len(values) < 2:
        return shades, shades
    return shades, (shades[..., :, None] & values[1][..., None, :]).flatten(-2)


def quantities(seen: Attributes, items: Items, world: World) -> tuple[Tensor, Tensor]:
    """Counts of the image (batch, …): items of each kind, those at a wall, boxes of a single shade.

    Counts of each box (batch, box, …): items of each kind, those at a wall, all items.
    """
    shades, kinds = _shades_and_kinds(seen, items.mask, world)
    at_wall = kinds & seen.walls.any(dim=-1, keepdim=True)
    in_box = torch.cat([kinds, at_wall], dim=-1).sum(dim=2)
    counts = items.counts[..., None]
    of_one_shade = (shades.sum(dim=2) == counts) & (counts > 0)
    image = torch.cat([in_box.sum(dim=1), of_one_shade.sum(dim=1)], dim=-1)
    return image, torch.cat([in_box, counts], dim=-1)


def agreements(values: Tensor, image: Tensor, boxes: Tensor, exists: Tensor | None) -> Tensor:
    """Says whether numbers (batch, word) agree with quantities: (batch, word, agreement), bool.

    Four ways: as many in the image, at least so many in the image, as many in some box, at least so many in each box.
    `exists` (batch, box; None: always) says which boxes there are.
    """
    number = values[..., None]  # (batch, word, 1)
    in_some = number[:, :, None] == boxes[:, None]  # (batch, word, box, …)
    if exists is not None:
        in_some = in_some & exists[:, None, :, None]
        boxes = boxes.masked_fill(~exists[..., None], _MANY_ITEMS)
    fewest = boxes.amin(dim=1)
    image = image[:, None]
    return torch.cat([number == image, number <= image, in_some.any(dim=2), number <= fewest[:, None]], dim=-1)


def looks(items: Attributes, mask: Tensor, world: World) -> Tensor:
    """(batch, look), bool: shades on top of some box, shades on some floor, whether anything is at a wall."""
    shades, _ = _shades_and_kinds(items, mask, world)
    heights = items.y.masked_fill(~mask, torch.iinfo(items.y.dtype).max)
    # Items at equal height are all on top: the order of the file must not decide.
    on_top = items.y == heights.amin(dim=2, keepdim=True)
    on_floor = items.walls[..., tuple(Side).index(Side.BOTTOM)]
    at_wall = items.walls.any(dim=-1, keepdim=True)
    found = torch.cat([shades & on_top[..., None], shades & on_floor[..., None], at_wall], dim=-1)
    return found.any(dim=2).any(dim=1)


# ---------------------------------------------------------------- features

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
        self.counts, self.looks = (
            Conjunctions(met.size(-1)) for met in self._met(Items.empty(world), torch.zeros(1, 1))
        )

    def forward(self, batch: Batch) -> Tensor:
        """Returns the indices of each example's features, each once, padded with NO_FEATURE: (batch, place), int32."""
        of_counts, of_looks = self._pairs(batch)
        return torch.cat([self.counts(*of_counts), self.looks(*of_looks)], dim=1)

    def learn(self, corpus: Batch) -> int:
        """Numbers the conjunctions in the corpus from NO_FEATURE + 1 on; returns the first unused number."""
        seen = [[_merged(*pair) for pair in self._pairs(chunk)] for chunk in self.chunks(corpus)]
        of_counts, of_looks = zip(*seen, strict=True)
        return self.looks.learn(of_looks, first=self.counts.learn(of_counts, first=NO_FEATURE + 1))

    def chunks(self, corpus: Batch) -> Iterator[Batch]:
        """Yields the corpus in chunks, in order, on this module's device."""
        for start in range(0, len(corpus), _CHUNK):
            yield corpus[start : start + _CHUNK].to(self.numbers.device)

    def _pairs(self, batch: Batch) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        """Number-grams with counts, plain grams with looks: keys and the predicates that hold, each gram once."""
        statement = batch.statement
        agree, look = self._met(required(batch.items), self.numbers[statement.words])
        return _once(self.number_grams(statement), agree), _once(self.plain_grams(statement), look)

    def _met(self, items: Items, numbers: Tensor) -> tuple[Tensor, Tensor]:
        """Which counts agree with each number (batch, word), and the looks of the scene, for each word."""
        seen = Attributes.of(items, self.world)
        counted = quantities(seen, items, self.world)
        agree = agreements(numbers, *counted, items.box_mask) & (numbers != NO_NUMBER)[..., None]
        return agree, looks(seen, items.mask, self.world)[:, None].expand(-1, numbers.size(1), -1)


class Conjunctions(nn.Module):
    """Numbers the conjunctions of grams and predicates, in a table of features."""

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


# ---------------------------------------------------------------- MaxEnt


@dataclass(frozen=True)
class MaxEntConfig(ModelConfig):
    name: str = "maxent"
    penalty: float = number(20.0, 1e-6, 1e6, "Weights w, the bias among them, cost penalty / 2 |w|².")


class MaxEnt(Model):
    """Is a log-linear model. An optimizer has nothing to do: the problem is convex, and `fit` finds its one optimum."""

    Config = MaxEntConfig
    summary = "MaxEnt: conjunctions of n-grams and counts"
    order = Order.NONE
    is_fitted = True

    def __init__(self, config: MaxEntConfig, vocabulary: Vocabulary, world: World) -> None:
        super().__init__(config, vocabulary, world)
        self.penalty = config.penalty
        self.features = CountFeatures(vocabulary, world)
        self.register_buffer("weights", torch.zeros(1))  # (feature,); that of NO_FEATURE is zero
        self.register_buffer("bias", torch.zeros(()))
        self.weights: Tensor
        self.bias: Tensor
        resize_on_load(self)

    def forward(self, batch: Batch) -> Judgement:
        return Judgement(logits=self.weights[self.features(batch)].sum(dim=1) + self.bias)

    def prepare(self, corpus: Batch) -> None:
        """Takes the features that occur in the corpus."""
        labels = required(corpus.labels)
        if labels.min() == labels.max():
            raise InputError("all labels of the train split are the same", allowed="maxent needs true and false ones")
        self.weights = self.weights.new_zeros(self.features.learn(corpus))

    def check_requirements(self) -> None:
        if importlib.util.find_spec("sklearn") is None:  # importing it would take seconds
            install = "install it with: pip install 'veriscene[maxent]'"
            raise MissingRequirement("training maxent needs scikit-learn, which is not installed", allowed=install)

    def fit(self, corpus: Batch) -> None:
        self.check_requirements()
        from scipy.sparse import csr_matrix
        from sklearn.linear_model import LogisticRegression

        columns, ends = [], [torch.zeros(1, dtype=torch.int64)]
        for chunk in self.features.chunks(corpus):
            features = self.features(chunk)
            columns.append(features[features != NO_FEATURE].cpu())
            ends.append((features != NO_FEATURE).sum(dim=1).cpu())
        column, end = torch.cat(columns).numpy(), torch.cat(ends).cumsum(dim=0).numpy()
        present = csr_matrix((torch.ones(len(column)).numpy(), column, end), shape=(len(corpus), len(self.weights)))
        # There are far fewer examples than features: dual coordinate descent is several times faster than the others.
        regression = LogisticRegression(
            C=1 / self.penalty, solver="liblinear", dual=True, tol=1e-3, max_iter=1000, random_state=0
        ).fit(present, required(corpus.labels).cpu().numpy())
        self.weights.copy_(torch.from_numpy(regression.coef_[0]))
        self.bias.copy_(torch.from_numpy(regression.intercept_)[0])


# ---------------------------------------------------------------- MLP

INITIAL_RANGE = 0.01  # of the features' vectors


@dataclass(frozen=True)
class MLPConfig(ModelConfig):
    name: str = "mlp"
    embedding: int = size(32)
    mlp: int = size(32)


class MLP(Model):
    """Embeds the features of MaxEnt, averages them, and scores the mean by one hidden layer."""

    Config = MLPConfig
    summary = "MLP: the features of MaxEnt as embeddings"
    order = Order.NONE

    def __init__(self, config: MLPConfig, vocabulary: Vocabulary, world: World) -> None:
        super().__init__(config, vocabulary, world)
        self.features = CountFeatures(vocabulary, world)
        self.vectors = nn.Parameter(torch.zeros(1, config.embedding))  # (feature, embedding)
        self.scorer = Scorer(config.embedding, config.mlp, dropout=0.0)
        xavier_(self.scorer)
        resize_on_load(self)

    def forward(self, batch: Batch) -> Judgement:
        # Features that did not occur in training, NO_FEATURE, are excluded from the mean.
        mean = embedding_bag(self.features(batch), self.vectors, mode="mean", padding_idx=NO_FEATURE)
        return Judgement(logits=self.scorer(mean))

    def parameter_groups(self) -> list[dict[str, Any]]:
        return [{"params": [self.vectors], "orthogonal": False}, {"params": list(self.scorer.parameters())}]

    def prepare(self, corpus: Batch) -> None:
        """Takes the features that occur in the corpus, and gives each a fresh vector."""
        features, embedding = self.features.learn(corpus), self.vectors.size(1)
        check_weights(
            features * embedding,
            what=f"mlp with model.embedding={embedding} for each of {features:,} features",
            allowed="lower model.embedding",
        )
        vectors = self.vectors.new_empty(features, embedding)
        self.vectors = nn.Parameter(nn.init.uniform_(vectors, -INITIAL_RANGE, INITIAL_RANGE))
