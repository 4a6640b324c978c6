"""BiENC, BiATT and BiDAF: models that read words and items with one BiLSTM each (equations 1 to 3)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from veriscene.config import choice, size
from veriscene.data.batch import Batch, Statement, required
from veriscene.data.vocabulary import PADDING, Vocabulary
from veriscene.models.base import Judgement, Model, RecurrentConfig
from veriscene.models.layers.attention import ItemMatching, Sequences, element_max, masked_softmax
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

    def forward(self, batch: Batch) -> Judgement:
        items = required(batch.items)
        return self.match(*self.read(batch), items.given_order, items.box_mask)

    @abstractmethod
    def match(self, words: Sequences, objects: Sequences, order: Tensor, boxes: Tensor | None) -> Judgement:
        """Judges words against the items of each box, which were read in the given order (batch, box, place). `boxes`
        says which boxes there are."""

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
    """Scores the similarity of a statement's and a box's last hidden outputs, without attention (appendix A.3.3)."""

    Config = BiENCConfig
    summary = "BiENC: similarity of the last hidden outputs"

    def __init__(self, config: ReadingConfig, vocabulary: Vocabulary, world: World) -> None:
        super().__init__(config, vocabulary, world)
        self.similarity = nn.Linear(2 * config.hidden, 2 * config.hidden, bias=False)
        self.combine = SCORE_COMBINATIONS[config.pooling]
        xavier_(self, forget_bias=config.forget_bias)

    def match(self, words: Sequences, objects: Sequences, order: Tensor, boxes: Tensor | None) -> Judgement:
        h = last_outputs(*words)
        g = last_outputs(objects.states.flatten(0, 1), objects.lengths.flatten()).view(*objects.lengths.shape, -1)
        scores = torch.einsum("bd,bjd->bj", self.similarity(h), g)
        return Judgement(logits=self.combine(scores, boxes), scores=scores, order=order)


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

    def match(self, words: Sequences, objects: Sequences, order: Tensor, boxes: Tensor | None) -> Judgement:
        matched = self.matching(words, objects)
        logits, scores = self.pool(matched.vectors, boxes)  # 14, 15
        return Judgement(logits=logits, scores=scores, order=order, alpha=matched.alpha, beta=matched.beta)


# ---------------------------------------------------------------- BiDAF


@dataclass(frozen=True)
class BiDAFConfig(ReadingConfig):
    name: str = "bidaf"
    mlp: int = size(512)


class BiDAF(ReadingModel):
    """The statement is the document, a box's items the query (Seo et al. 2016, reimplemented as in appendix A.2).

    Section 3.1 says so in its comparison: query-to-document attention is the one "from the objects to the words", and
    it ends in the document's representation. Letters as in Seo et al.: h the document, u the query.
    """

    Config = BiDAFConfig
    summary = "BiDAF: the statement as the document, the items as the query"

    def __init__(self, config: BiDAFConfig, vocabulary: Vocabulary, world: World) -> None:
        super().__init__(config, vocabulary, world)
        hidden, dropout = config.hidden, config.dropout
        self.w_similarity = nn.Linear(6 * hidden, 1, bias=False)
        self.model_lstm1 = BiLSTM(8 * hidden, hidden, dropout)
        self.model_lstm2 = BiLSTM(2 * hidden, hidden, dropout)
        self.pool = make_pooling(config, world, 2 * hidden)
        xavier_(self, forget_bias=config.forget_bias)

    def match(self, words: Sequences, objects: Sequences, order: Tensor, boxes: Tensor | None) -> Judgement:
        a, g = self.attention_flow(words, objects)
        shape = objects.lengths.shape
        lengths = words.lengths[:, None].expand(shape).flatten()
        m = self.model_lstm2(self.model_lstm1(g.flatten(0, 1), lengths), lengths).unflatten(0, shape)
        logits, scores = self.pool(element_max(m, words.mask[:, None]), boxes)
        return Judgement(logits=logits, scores=scores, order=order, alpha=a)

    def attention_flow(self, document: Sequences, query: Sequences) -> tuple[Tensor, Tensor]:
        """h (batch, word, 2 hidden), u (batch, box, item, 2 hidden) -> how much each word attends to each item,
        (batch, box, word, item), and G, the words aware of the items, (batch, box, word, 8 hidden)."""
        h, u, query_mask = document.states[:, None], query.states, query.mask[:, :, None]
        s = self.similarity(h, u)
        a = masked_softmax(s, query_mask)  # document to query
        u_tilde = a @ u
        most_similar = s.masked_fill(~query_mask, -torch.inf).amax(dim=-1)
        b = masked_softmax(most_similar, document.mask[:, None])  # query to document
        h_tilde = b[:, :, None] @ h  # (batch, box, 1, 2 hidden): one vector, the same for every word
        return a, torch.cat([h.expand_as(u_tilde), u_tilde, h * u_tilde, h * h_tilde], dim=-1)

    def similarity(self, h: Tensor, u: Tensor) -> Tensor:
        """w · [h_t; u_k; h_t ∘ u_k], (batch, box, word, item), in parts: no vector is materialised for a pair."""
        of_h, of_u, of_both = self.w_similarity.weight.chunk(3, dim=1)
        return linear(h, of_h) + linear(u, of_u).transpose(-1, -2) + (h * of_both[0]) @ u.transpose(-1, -2)
