"""Spatial: BiATT's matching, with words that have letters, and items that see walls and one another.

It is not in the paper. docs/models.md has its equations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from veriscene import worlds
from veriscene.config import choice, flag, number, share, size
from veriscene.data.batch import Batch, Statement, required
from veriscene.data.encoder import Input
from veriscene.data.items import Items
from veriscene.data.vocabulary import CODES, PADDING, UNKNOWN, Vocabulary, tokenize
from veriscene.english.words import NUMBERS, lexicon_of
from veriscene.models.base import Judgement, Model, Order, RecurrentConfig
from veriscene.models.layers import geometry
from veriscene.models.layers.attention import ItemSetMatching, Sequences, masked_softmax
from veriscene.models.layers.pooling import POOLINGS, make_pooling
from veriscene.models.layers.recurrence import BiLSTM, concurrently, xavier_
from veriscene.world.schema import World

# The weight of neighbours and counts. There are hundreds, and at full weight they drown what an item is: in one small
# trial the loss was 0.24 after 400 steps with weight 1, 0.08 with 0.2 and with 0.07 (docs/models.md).
COUNTS_WEIGHT = 0.1
RELATIONS = ("none", "box", "scene")  # whether items look at no others, at those of their box, or at all
HEADS, WIDTH = 8, 32  # of each attention
EDGE = 32  # size of a pair's vector
EXPECTED_ITEMS = 8  # gates of that many items begin with a sum of about one
# The weight of what a layer adds. In one small trial a task was learned after 120 steps with it, not after 200 without
# (docs/models.md); probably because the sums of a layer outgrow what an item is within a few steps.
PACE = 0.1
LETTER, WINDOW = 32, 3  # size of a letter's vector, letters that a filter of spelling sees


@dataclass(frozen=True)
class SpatialConfig(RecurrentConfig):
    name: str = "spatial"
    hidden: int = size(192)
    joint: int = size(384)
    mlp: int = size(384)
    dropout: float = share(0.0)  # a teacher's examples never repeat
    pooling: str = choice("joint", POOLINGS)
    forget_bias: float = number(1.0, -10.0, 10.0)
    coordinates: str = choice("contact", geometry.COORDINATES)
    letters: bool = flag(True, "Whether a word's letters add to its vector.")
    walls: bool = flag(True, "Whether items have features of the walls that they touch.")
    neighbours: bool = flag(True, "Whether items know what touches them, what is above them, and so on.")
    counts: bool = flag(True, "Whether items know how many of each look their box and the scene have.")
    relations: str = choice("scene", RELATIONS, "Whether items look at no others, at those of their box, or at all.")
    box_index: bool = flag(False, "Whether items know which box they are in, if the statement names a particular one.")
    numbers: bool = flag(False, "Whether items have a feature for each step of each numeric attribute.")
    layers: int = number(3, 0, 16, "Layers in which items look at one another and at the statement.")


# Words that tell boxes apart in any world; "2nd" is read as two words.
ENDS = ("outer", "outermost", "outside", "end", "ends")
SIDE_BY_SIDE = ("adjacent", "beside", "neighboring", "neighbouring")
TELLING = (*ENDS, *SIDE_BY_SIDE, "respectively", "st", "nd", "rd", "th")


def box_words(vocabulary: Vocabulary, world: World) -> Tensor:
    """Returns (word, 3): whether it tells boxes apart, whether it is a noun for a box, whether it is a number.

    So the verdict on a statement without such words does not depend on the order of boxes, by construction.
    """
    lexicon = lexicon_of(worlds.language(world))
    tell = {word for place in lexicon.places for text in place.words for word in tokenize(text)} - {"far"}
    nouns = {singular for singular, _ in (*lexicon.boxes, *lexicon.towers)} | {"number", "#"}
    numbers = {*NUMBERS, *map(str, range(1, world.boxes[1] + 1))}
    sets = (tell | {*TELLING, vocabulary.words[UNKNOWN]}, nouns, numbers)
    return torch.tensor([[float(word in some) for some in sets] for word in vocabulary.words])


class Spatial(Model):
    Config = SpatialConfig
    summary = "Spatial: BiATT's matching after letters, walls and relations between items (not in the paper)"
    inputs = frozenset({Input.ITEMS, Input.CHARACTERS})
    order = Order.NONE

    config: SpatialConfig

    def __init__(self, config: SpatialConfig, vocabulary: Vocabulary, world: World) -> None:
        super().__init__(config, vocabulary, world)
        size, dropout = 2 * config.hidden, config.dropout
        self.embed_words = nn.Embedding(len(vocabulary), config.embedding, padding_idx=PADDING)
        self.spelling = SpellingCNN(config.embedding) if config.letters else None
        self.lang_lstm = BiLSTM(config.embedding, config.hidden, dropout)
        if config.box_index:
            self.register_buffer("box_words", box_words(vocabulary, world))
        features, pairs = (some.size(-1) for some in self.features(Items.empty(world), torch.zeros(1)))
        self.embed_items = nn.Sequential(nn.Linear(features, size), nn.ReLU(), nn.Linear(size, size))
        related = config.relations != "none"
        self.pairs = Pairs(pairs, config.relations) if related and config.layers else None
        layers = [ItemLayer(size, config.joint, dropout, relations=related) for _ in range(config.layers)]
        self.layers = nn.ModuleList(layers)
        self.norm = nn.LayerNorm(size, elementwise_affine=False)
        self.matching = ItemSetMatching(config.hidden, config.joint, dropout)
        self.pool = make_pooling(config, world, 4 * config.hidden)
        xavier_(self, forget_bias=config.forget_bias)
        for layer in layers:
            layer.start_as_identity_()

    def forward(self, batch: Batch) -> Judgement:
        items = required(batch.items)
        words, (g, pairs) = concurrently(
            lambda: self.read_statement(batch.statement),
            lambda: self.read_items(items, batch.statement),
        )
        read = words._replace(states=self.norm(words.states))
        for layer in self.layers:
            g = layer(g, read, pairs)
        g = self.norm(g).view(*items.features.shape[:3], -1)
        matched = self.matching(words, Sequences(g, items.lengths))
        logits, scores = self.pool(matched.vectors, items.box_mask)
        return Judgement(logits=logits, scores=scores, alpha=matched.alpha, beta=matched.beta)

    def read_statement(self, statement: Statement) -> Sequences:
        """h (batch, word, 2 hidden)."""
        vectors = self.embed_words(statement.words)
        if self.spelling is not None:
            vectors = vectors + self.spelling(required(statement.characters))
        return Sequences(self.lang_lstm(vectors, statement.lengths), statement.lengths)

    def names_box(self, statement: Statement) -> Tensor:
        """(batch,): 1.0 if a word tells boxes apart, if a word for a box is followed by a number, or if a word is not
        known, as it may be any of these; otherwise 0.0."""
        flags = self.get_buffer("box_words")[statement.words] * statement.mask[..., None]
        tells, noun, number = flags.unbind(-1)
        named: Tensor = torch.maximum(tells, noun * pad(number, (0, 1))[:, 1:]).amax(dim=1)
        return named

    def features(self, items: Items, named: Tensor | None) -> tuple[Tensor, Tensor]:
        """Describes each item, (batch, box, item, feature), and each pair of items, (batch, i, j, feature).
        `named` (batch,): how much the statement names a box, if items know theirs."""
        config, world = self.config, self.world
        pairs, kinds = geometry.pair_features(items.features, world), geometry.looks(items, world)
        features = [geometry.encode_positions(items.features, config.coordinates, world), kinds]
        if config.walls:
            features.append(geometry.wall_features(items.features, world))
        if config.neighbours:
            features.append(COUNTS_WEIGHT * geometry.neighbour_features(pairs, kinds))
        if config.counts:
            features.append(COUNTS_WEIGHT * geometry.count_features(kinds, world, items.box_mask))
        if config.box_index and world.boxes[1] > 1:
            index = geometry.box_index_features(items) * required(named)[:, None, None]
            features.append(index[:, :, None].expand(-1, -1, kinds.size(2), -1))
        if config.numbers:
            features.append(COUNTS_WEIGHT * geometry.number_features(items.features, world))
        return torch.cat(features, dim=-1), pairs

    def read_items(self, items: Items, statement: Statement) -> tuple[Tensor, tuple[Tensor, Tensor] | None]:
        """g (batch, item, 2 hidden), the items of all boxes one after another, and what `Pairs` makes of them."""
        features, pairs = self.features(items, self.names_box(statement) if self.config.box_index else None)
        g: Tensor = self.embed_items(features).flatten(1, 2)
        # Under autocast too, layers add to g in full precision.
        return g.to(pairs.dtype), None if self.pairs is None else self.pairs(items, pairs)


# ---------------------------------------------------------------- layers


class Pairs(nn.Module):
    """e_ij = relu(W p_ij + b), of the features p_ij of each pair of items of a scene."""

    def __init__(self, features: int, relations: str) -> None:
        super().__init__()
        self.within_boxes = relations == "box"
        self.embed = nn.Linear(features, EDGE)

    def forward(self, items: Items, features: Tensor) -> tuple[Tensor, Tensor]:
        """Turns pair features (batch, i, j, …) into vectors (batch, i, j, EDGE); also says whether i looks at j."""
        mask = items.mask.flatten(1)[:, None]  # (batch, 1, j)
        box = torch.arange(mask.size(-1), device=mask.device) // items.features.size(2)
        allowed = (box[:, None] == box) & mask if self.within_boxes else mask.expand(-1, mask.size(-1), -1)
        return torch.relu(self.embed(features)), allowed


class GatedItemAttention(nn.Module):
    """o_i = W Σ_j a_ij [v_j; e_ij], with gates a_ij = σ(q_i k_j / √d + w e_ij - log 8) in each head.

    Gates and not a softmax, because counts are sums. The constant lets the gates of a full box begin with a sum of
    about one.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.queries_keys_values = nn.Linear(size, 3 * HEADS * WIDTH)
        self.bias = nn.Linear(EDGE, HEADS)
        self.out = nn.Linear(HEADS * (WIDTH + EDGE), size)

    def forward(self, g: Tensor, pairs: tuple[Tensor, Tensor]) -> Tensor:
        """g (batch, item, size) -> (batch, item, size)."""
        e, allowed = pairs
        q, k, v = (part.unflatten(-1, (HEADS, WIDTH)) for part in self.queries_keys_values(g).chunk(3, dim=-1))
        scores = torch.einsum("bihd,bjhd->bihj", q, k) / math.sqrt(WIDTH) + self.bias(e).mT
        gates = torch.sigmoid(scores - math.log(EXPECTED_ITEMS)) * allowed[:, :, None]
        seen = [torch.einsum("bihj,bjhd->bihd", gates, v), gates @ e]
        out: Tensor = self.out(torch.cat(seen, dim=-1).flatten(2))
        return out


class WordAttention(nn.Module):
    """Items attend to words: o_i = W Σ_t softmax_t(q_i k_t / √d) v_t in each head."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.queries = nn.Linear(size, HEADS * WIDTH)
        self.keys_values = nn.Linear(size, 2 * HEADS * WIDTH)
        self.out = nn.Linear(HEADS * WIDTH, size)

    def forward(self, g: Tensor, words: Sequences) -> Tensor:
        """g (batch, item, size), words h (batch, word, size) -> (batch, item, size)."""
        q = self.queries(g).unflatten(-1, (HEADS, WIDTH))
        k, v = (part.unflatten(-1, (HEADS, WIDTH)) for part in self.keys_values(words.states).chunk(2, dim=-1))
        scores = torch.einsum("bihd,bthd->bhit", q, k) / math.sqrt(WIDTH)
        weights = masked_softmax(scores, words.mask[:, None, None])
        out: Tensor = self.out(torch.einsum("bhit,bthd->bihd", weights, v).flatten(2))
        return out


class ItemLayer(nn.Module):
    """g += asking(g, h); g += relating(g, e); g += W relu(W' g). Each reads normalised items and has dropout."""

    def __init__(self, size: int, joint: int, dropout: float, *, relations: bool) -> None:
        super().__init__()
        self.relating = GatedItemAttention(size) if relations else None
        self.asking = WordAttention(size)
        self.first = nn.Linear(size, joint)
        self.last = nn.Linear(joint, size)
        self.norm = nn.LayerNorm(size, elementwise_affine=False)
        self.dropout = nn.Dropout(dropout)

    def start_as_identity_(self) -> None:
        """Sets the last matrix of each summand to zero. Else what an item is drowns at first in sums over all items."""
        nn.init.zeros_(self.asking.out.weight)
        nn.init.zeros_(self.last.weight)
        if self.relating is not None:
            nn.init.zeros_(self.relating.out.weight)

    def forward(self, g: Tensor, words: Sequences, pairs: tuple[Tensor, Tensor] | None) -> Tensor:
        """g (batch, item, size), of all items of a scene; words normalised."""
        g = g + PACE * self.dropout(self.asking(self.norm(g), words))
        if self.relating is not None and pairs is not None:
            g = g + PACE * self.dropout(self.relating(self.norm(g), pairs))
        result: Tensor = g + PACE * self.dropout(self.last(torch.relu(self.first(self.norm(g)))))
        return result


class SpellingCNN(nn.Module):
    """Takes the max of a convolution over the letters, so that a misspelt word keeps most of its vector."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.embed_letters = nn.Embedding(CODES, LETTER, padding_idx=0)
        self.filters = nn.Linear(WINDOW * LETTER, size)
        self.project = nn.Linear(size, size)

    def forward(self, characters: Tensor) -> Tensor:
        """(batch, word, letter), codes -> (batch, word, size)."""
        # Filters also see where a word begins and ends. One matrix product is faster than convolving such short rows.
        letters = pad(self.embed_letters(characters.long()), (0, 0, WINDOW - 1, WINDOW - 1))
        count = letters.size(2) - WINDOW + 1
        windows = torch.cat([letters[:, :, start : start + count] for start in range(WINDOW)], dim=-1)
        vectors: Tensor = self.project(torch.relu(self.filters(windows).amax(dim=2)))
        return vectors
