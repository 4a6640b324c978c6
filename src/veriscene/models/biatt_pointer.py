"""BiATT-Pointer (section 3.2): a pointer network puts each box's items in the order that the statement asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor, nn

from veriscene.models.base import Judgement
from veriscene.models.biatt import BiATT
from veriscene.models.layers.attention import masked_softmax, xavier_
from veriscene.models.layers.recurrence import gates_of, lstm_from, lstm_step, lstm_to_the_end
from veriscene.models.layers.streams import concurrently
from veriscene.tensors.batch import Batch, take_items

Choose = Callable[[int, Tensor], Tensor]  # (place, log-probabilities (batch, box, item)) -> item (batch, box)


class Glance(NamedTuple):
    """What the pointer's encoder saw of the items."""

    memory: Tensor  # (batch, box, item, hidden)
    state: tuple[Tensor, Tensor]  # (batch x box, hidden) each: where the decoder starts


class Words(NamedTuple):
    """A statement as the pointer's decoder attends to it."""

    keys: Tensor  # (batch, word, hidden): B h_i, so that s' B h_i is a product with s alone
    values: Tensor  # (batch, word, hidden): the part of W [c; s] that is linear in c
    mask: Tensor  # (batch, 1, word)


class Question(NamedTuple):
    """What the pointer chooses from, and what the probability of a choice depends on."""

    words: Words
    e: Tensor  # (batch, box, item, dim)
    keys: Tensor  # (batch, box, item, hidden): the items, as they are pointed at
    state: tuple[Tensor, Tensor]  # (batch x box, hidden) each: where the decoder starts
    kept: Tensor  # (place, batch, box, hidden): the decoder's dropout, the same when choosing and when asked how likely
    counts: Tensor  # (batch, box)


class Pointer(nn.Module):
    """p(π | s, o): an LSTM glances at the items in the order given; another one points at them, one after the other.

    Encoder and decoder are those of pointer networks (both works that the paper builds on read in one direction);
    the decoder attends to the words by Luong's bilinear attention and points from the attentional state.
    """

    def __init__(self, *, words: int, item: int, hidden: int, dropout: float, forget_bias: float) -> None:
        super().__init__()
        self.start = nn.Parameter(torch.zeros(item))
        self.encoder = nn.LSTMCell(item, hidden)
        self.decoder = nn.LSTMCell(item, hidden)
        self.attend = nn.Linear(hidden, words, bias=False)
        self.attentional = nn.Linear(words + hidden, hidden, bias=False)
        self.point = nn.Linear(hidden, hidden, bias=False)
        self.dropout = nn.Dropout(dropout)
        xavier_(self, forget_bias=forget_bias)

    def glance(self, e: Tensor, counts: Tensor) -> Glance:
        """The encoder's hidden outputs, before dropout, and its state after each box's last item."""
        memory, state = lstm_to_the_end(self.encoder, e.flatten(0, 1), counts.flatten())
        return Glance(memory=memory.view(*e.shape[:3], -1), state=state)

    def ask(self, h: Tensor, e: Tensor, glance: Glance, batch: Batch) -> Question:
        """Words h (batch, word, words), items e (batch, box, item, dim): all that comes before the first choice."""
        own = self.attentional.weight[:, : h.size(-1)]
        words = Words(keys=h @ self.attend.weight, values=h @ own.T, mask=batch.word_mask[:, None])
        kept = self.dropout(glance.memory.new_ones(e.size(2), *batch.counts.shape, self.decoder.hidden_size))
        return Question(words, e, self.point(self.dropout(glance.memory)), glance.state, kept, batch.counts)

    @torch.no_grad()
    def order(self, question: Question, choose: Choose) -> Tensor:
        """π (batch, box, item): a permutation of a box's items, followed by the padding where it was."""
        e, counts, state = question.e, question.counts, question.state
        gates = gates_of(e, self.decoder)
        gate = gates_of(self.start, self.decoder).expand(counts.numel(), -1)
        slots = torch.arange(e.size(2), device=e.device)
        free, order = slots < counts[..., None], []
        for place, kept in enumerate(question.kept):
            state = lstm_step(gate, self.decoder, state)
            s = self._attentional_state(state[0].view_as(kept) * kept, question.words)
            # Past a box's last item nothing is free; then the padding at that place comes, with certainty.
            allowed = free | ((slots == place) & (place >= counts)[..., None])
            pointing = torch.einsum("bjd,bjkd->bjk", s, question.keys)
            chosen = choose(place, pointing.masked_fill(~allowed, -torch.inf).log_softmax(dim=-1))
            order.append(chosen)
            free = free & (slots != chosen[..., None])
            gate = take_items(gates, chosen[..., None]).flatten(0, 2)
        return torch.stack(order, dim=2)

    def log_probability(self, question: Question, order: Tensor) -> Tensor:
        """log p(π | s, o), (batch,): once the order is known, all places at once."""
        places, counts = order.size(2), question.counts
        read = take_items(question.e, order)[:, :, :-1]
        inputs = torch.cat([self.start.expand(*read.shape[:2], 1, -1), read], dim=2)
        outputs = lstm_from(self.decoder, inputs.flatten(0, 1), question.state).view(*counts.shape, places, -1)
        s = outputs * question.kept.permute(1, 2, 0, 3)
        s = self._attentional_state(s.flatten(1, 2), question.words).view_as(s)
        slots = torch.arange(places, device=order.device)
        place, count = slots[:, None], counts[..., None, None]
        unread = order.argsort(dim=2)[:, :, None] >= place  # (batch, box, place, item)
        allowed = unread & (slots < count) | (slots == place) & (place >= count)
        pointing = torch.einsum("bjpd,bjkd->bjpk", s, question.keys)
        log_p = pointing.masked_fill(~allowed, -torch.inf).log_softmax(dim=-1)
        return log_p.gather(3, order[..., None]).sum(dim=(1, 2, 3))

    def _attentional_state(self, s: Tensor, words: Words) -> Tensor:
        """s̃ = tanh(W [c; s]), c the words' mean under softmax_i(s' B h_i)."""
        weights = masked_softmax(torch.einsum("bjd,btd->bjt", s, words.keys), words.mask)
        own = self.attentional.weight[:, -s.size(-1) :]
        return torch.tanh(weights @ words.values + s @ own.T)


class Reading(NamedTuple):
    """All that comes before dropout and before the first choice."""

    h: Tensor  # (batch, word, 2 hidden)
    e: Tensor  # (batch, box, item, dim)
    glance: Glance


class BiATTPointer(nn.Module):
    """In training it samples orders and also judges as in inference, for the self-critical baseline."""

    chooses_order = True

    def __init__(
        self,
        *,
        vocabulary: int,
        embedding: int = 128,
        hidden: int = 256,
        item: int = 64,
        joint: int = 512,
        mlp: int = 512,
        dropout: float = 0.3,
        pooling: str = "max",
        forget_bias: float = 0.0,
        coordinates: str = "corner",
    ) -> None:
        super().__init__()
        self.comprehension = BiATT(
            vocabulary=vocabulary,
            embedding=embedding,
            hidden=hidden,
            item=item,
            joint=joint,
            mlp=mlp,
            dropout=dropout,
            pooling=pooling,
            forget_bias=forget_bias,
            coordinates=coordinates,
        )
        self.pointer = Pointer(words=2 * hidden, item=item, hidden=hidden, dropout=dropout, forget_bias=forget_bias)

    def forward(self, batch: Batch) -> Judgement:
        reading = self._read(batch)
        if not self.training:
            return self._infer(batch, reading)
        judgement, baseline = concurrently(
            lambda: self._judge(batch, reading, sampled), lambda: self._baseline(batch, reading)
        )
        return replace(judgement, baseline_logits=baseline.logits)

    def judge(self, batch: Batch, choose: Choose) -> Judgement:
        """With another choice of items, and with the probability of the order that comes of it."""
        return self._judge(batch, self._read(batch), choose)

    def _read(self, batch: Batch) -> Reading:
        e = self.comprehension.embed_items(batch.items)  # shared by pointer encoder, pointer decoder and OBJ-LSTM
        h, glance = concurrently(
            lambda: self.comprehension.read_statement(batch), lambda: self.pointer.glance(e, batch.counts)
        )
        return Reading(h, e, glance)

    def _judge(self, batch: Batch, reading: Reading, choose: Choose) -> Judgement:
        h, e = self.comprehension.lang_lstm.dropout(reading.h), reading.e
        question = self.pointer.ask(h, e, reading.glance, batch)
        order = self.pointer.order(question, choose)
        judgement, log_probability = concurrently(
            lambda: self._match(h, e, batch, order),
            lambda: self.pointer.log_probability(question, order),
        )
        return replace(judgement, log_probability=log_probability)

    def _infer(self, batch: Batch, reading: Reading) -> Judgement:
        """Without dropout, in the likeliest order, whose probability nobody asks."""
        h, e = reading.h, reading.e
        order = self.pointer.order(self.pointer.ask(h, e, reading.glance, batch), greedy)
        return self._match(h, e, batch, order)

    def _match(self, h: Tensor, e: Tensor, batch: Batch, order: Tensor) -> Judgement:
        g = self.comprehension.read_items(take_items(e, order), batch)
        return self.comprehension.match(h, g, batch, order)

    def _baseline(self, batch: Batch, reading: Reading) -> Judgement:
        """As in inference. What was read before any dropout is the same there, so it is not read again."""
        with torch.no_grad(), _in_inference(self):
            return self._infer(batch, reading)


def greedy(_place: int, log_p: Tensor) -> Tensor:
    return log_p.argmax(dim=-1)


def sampled(_place: int, log_p: Tensor) -> Tensor:
    """One draw from each distribution (the Gumbel-max way: one kernel, no host synchronisation)."""
    # Bounded away from zero: an infinite noise on an item that is out (log p = -inf) would make NaN.
    noise = -torch.empty_like(log_p).exponential_().clamp_min(torch.finfo(log_p.dtype).tiny).log()
    return (log_p + noise).argmax(dim=-1)


def given(order: Tensor) -> Choose:
    """Follows an order that somebody else chose."""
    return lambda place, _log_p: order[:, :, place]


@contextmanager
def _in_inference(module: nn.Module) -> Iterator[None]:
    was = module.training
    module.eval()
    try:
        yield
    finally:
        module.train(was)
