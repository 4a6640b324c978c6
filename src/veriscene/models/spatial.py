"""Spatial: BiATT's matching, with words that have letters, and items that see walls and one another.

It is not in the paper. docs/models.md has its equations.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from veriscene import worlds
from veriscene.config import choice, flag, number, share, size
from veriscene.data.batch import Batch, Statement, required
from veriscene.data.encoder import Input
from veriscene.data.items import Items
from veriscene.data.vocabulary import PADDING, UNKNOWN, Vocabulary, tokenize
from veriscene.english.words import NUMBERS, lexicon_of
from veriscene.models.base import Judgement, Model, Order, RecurrentConfig
from veriscene.models.layers.attention import ItemSetMatching, Sequences
from veriscene.models.layers.geometry import (
    COORDINATES,
    WALL_FEATURES,
    box_index_count,
    box_index_features,
    count_feature_count,
    count_features,
    encode_positions,
    look_count,
    looks,
    neighbour_feature_count,
    neighbour_features,
    number_feature_count,
    number_features,
    pair_feature_count,
    pair_features,
    wall_features,
)
from veriscene.models.layers.pooling import POOLINGS, make_pooling
from veriscene.models.layers.recurrence import BiLSTM, concurrently, xavier_
from veriscene.models.layers.relations import RELATIONS, ItemLayer, Pairs, SpellingCNN
from veriscene.world.schema import World

# The weight of neighbours and counts. There are hundreds, and at full weight they drown what an item is: in one small
# trial the loss was 0.24 after 400 steps with weight 1, 0.08 with 0.2 and with 0.07 (docs/models.md).
COUNTS_WEIGHT = 0.1


@dataclass(frozen=True)
class SpatialConfig(RecurrentConfig):
    name: str = "spatial"
    hidden: int = size(192)
    joint: int = size(384)
    mlp: int = size(384)
    dropout: float = share(0.0)  # a teacher's examples never repeat
    pooling: str = choice("joint", POOLINGS)
    forget_bias: float = number(1.0, -10.0, 10.0)
    coordinates: str = choice("contact", COORDINATES)
    letters: bool = flag(True, "Whether a word's letters add to its vector.")
    walls: bool = flag(True, "Whether items have features of the walls that they touch.")
    neighbours: bool = flag(True, "Whether items know what touches them, what is above them, and so on.")
    counts: bool = flag(True, "Whether items know how many of each look their box and the scene have.")
    relations: str = choice("scene", RELATIONS, "Whether items look at no others, at those of their box, or at all.")
    box_index: bool = flag(False, "Whether items know which box they are in, if the statement names a particular one.")
    numbers: bool = flag(False, "Whether items have a feature for each step of each numeric attribute.")
    layers: int = number(3, 0, 16, "Layers in which items look at one another and at the statement.")


# Words that tell boxes apart in any world; "2nd" is read as two words.
TELLING = ("outer", "outermost", "ends", "respectively", "st", "nd", "rd", "th")


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
        features = world.feature_count + look_count(world) + config.walls * WALL_FEATURES
        features += config.neighbours * neighbour_feature_count(world) + config.counts * count_feature_count(world)
        features += config.box_index * box_index_count(world) + config.numbers * number_feature_count(world)
        if config.box_index:
            self.register_buffer("box_words", box_words(vocabulary, world))
        self.embed_items = nn.Sequential(nn.Linear(features, size), nn.ReLU(), nn.Linear(size, size))
        related = config.relations != "none"
        self.pairs = Pairs(pair_feature_count(world), config.relations) if related and config.layers else None
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

    def read_items(self, items: Items, statement: Statement) -> tuple[Tensor, tuple[Tensor, Tensor] | None]:
        """g (batch, item, 2 hidden), the items of all boxes one after another, and what `Pairs` makes of them."""
        pairs, kinds = pair_features(items.features, self.world), looks(items, self.world)
        features = [encode_positions(items.features, self.config.coordinates, self.world), kinds]
        if self.config.walls:
            features.append(wall_features(items.features, self.world))
        if self.config.neighbours:
            features.append(COUNTS_WEIGHT * neighbour_features(pairs, kinds))
        if self.config.counts:
            features.append(COUNTS_WEIGHT * count_features(kinds, self.world, items.box_mask))
        if self.config.box_index:
            index = box_index_features(items, self.world) * self.names_box(statement)[:, None, None]
            features.append(index[:, :, None].expand(-1, -1, kinds.size(2), -1)[..., : box_index_count(self.world)])
        if self.config.numbers:
            features.append(COUNTS_WEIGHT * number_features(items.features, self.world))
        g: Tensor = self.embed_items(torch.cat(features, dim=-1)).flatten(1, 2)
        # Under autocast too, layers add to g in full precision.
        return g.to(pairs.dtype), None if self.pairs is None else self.pairs(items, pairs)
