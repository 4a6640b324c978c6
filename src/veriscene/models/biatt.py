"""BiENC and BiATT: models that read words and items with one BiLSTM each (equations 1 to 3)."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from veriscene.config import choice, size
from veriscene.data.batch import Batch, Statement, required
from veriscene.data.vocabulary import PADDING, Vocabulary
from veriscene.models.base import Judgement, Model, RecurrentConfig
from veriscene.models.layers.attention import ItemMatching, Sequences
from veriscene.models.layers.geometry import ItemEmbedding
from veriscene.models.layers.pooling import SCORE_COMBINATIONS, make_pooling
from veriscene.models.layers.recurrence import BiLSTM, concurrently, last_outputs, xavier_
from veriscene.world.schema import World


@dataclass(frozen=True)
class ReadingConfig(RecurrentConfig):
    item: int = size(64)


class ReadingModel(Model, ABC):
    def __init__(self, config: ReadingConfig, vocabulary: Vocabulary, world: World) -> None:
        super().__init__(config, vocabulary, world)
        self.embed_words = nn.Embedding(len(vocabulary), config.embedding, padding_idx=PADDING)
        self.embed_items = ItemEmbedding(config.item, config.coordinates, world)
        self.lang_lstm = BiLSTM(config.embedding, config.hidden, config.dropout)
        self.obj_lstm = BiLSTM(config.item, config.hidden, config.dropout)

    def read(self, batch: Batch) -> tuple[Sequences, Sequences]:
        """Words h (batch, word, 2 hidden), and items g in the order given (batch, box, place, 2 hidden)."""
        items, statement = required(batch.items), batch.statement
        h, g = concurrently(
            lambda: self.lang_lstm.dropout(self.read_statement(statement)),
            lambda: self.read_items(self.embed_items(items.features), items.lengths),
        )
        return Sequences(h, statement.lengths), Sequences(g, items.lengths)

    def read_statement(self, statement: Statement) -> Tensor:
        """LANG-LSTM, equation 1, before dropout: (batch, word, 2 hidden)."""
        return self.lang_lstm.read(self.embed_words(statement.words), statement.lengths)

    def read_items(self, e: Tensor, counts: Tensor) -> Tensor:
        """OBJ-LSTM, equation 3: items e (batch, box, place, item) in any order -> (batch, box, place, 2 hidden)."""
        g: Tensor = self.obj_lstm(e.flatten(0, 1), counts.flatten()).unflatten(0, counts.shape)
        return g


# ---------------------------------------------------------------- BiENC


@dataclass(frozen=True)
class BiENCConfig(ReadingConfig):
    name: str = "bienc"
    pooling: str = choice("max", SCORE_COMBINATIONS)  # there are no box vectors that the others could merge


class BiENC(ReadingModel):
    """The similarity of a statement's and a box's last hidden outputs, without attention (appendix A.3.3)."""

    Config = BiENCConfig
    summary = "BiENC: similarity of the last hidden outputs"

    def __init__(self, config: BiENCConfig, vocabulary: Vocabulary, world: World) -> None:
        super().__init__(config, vocabulary, world)
        self.similarity = nn.Linear(2 * config.hidden, 2 * config.hidden, bias=False)
        self.combine = SCORE_COMBINATIONS[config.pooling]
        xavier_(self, forget_bias=config.forget_bias)

    def forward(self, batch: Batch) -> Judgement:
        items, (words, objects) = required(batch.items), self.read(batch)
        h, boxes = last_outputs(*words), objects.lengths.shape
        g = last_outputs(objects.states.flatten(0, 1), objects.lengths.flatten()).view(*boxes, -1)
        scores = torch.einsum("bd,bjd->bj", self.similarity(h), g)
        return Judgement(logits=self.combine(scores, items.box_mask), scores=scores, order=items.given_order)


# ---------------------------------------------------------------- BiATT


@dataclass(frozen=True)
class BiATTConfig(ReadingConfig):
    name: str = "biatt"
    joint: int = size(512)
    mlp: int = size(512)


class BiATT(ReadingModel):
    """Joint bidirectional attention between the words of a statement and the items of each box (section 3.1)."""

    Config = BiATTConfig
    summary = "BiATT: joint bidirectional attention"

    def __init__(self, config: BiATTConfig, vocabulary: Vocabulary, world: World) -> None:
        super().__init__(config, vocabulary, world)
        self.matching = ItemMatching(config.hidden, config.joint, config.dropout)
        self.pool = make_pooling(config, world, 4 * config.hidden)
        xavier_(self, forget_bias=config.forget_bias)

    def forward(self, batch: Batch) -> Judgement:
        items = required(batch.items)
        return self.match(*self.read(batch), items.given_order, items.box_mask)

    def match(self, words: Sequences, objects: Sequences, order: Tensor, boxes: Tensor | None) -> Judgement:
        """Judges words against the items of each box, which were read in the given order (batch, box, place). `boxes`
        says which boxes there are."""
        matched = self.matching(words, objects)
        logits, scores = self.pool(matched.vectors, boxes)  # 14, 15
        return Judgement(logits=logits, scores=scores, order=order, alpha=matched.alpha, beta=matched.beta)
