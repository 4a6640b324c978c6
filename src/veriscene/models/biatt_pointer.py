"""BiATT-Pointer (section 3.2): a pointer network orders the items of each box before BiATT reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from veriscene.data.batch import Batch, required
from veriscene.data.items import take_items
from veriscene.data.vocabulary import Vocabulary
from veriscene.models.base import Judgement, Model, Order
from veriscene.models.biatt import BiATT, BiATTConfig
from veriscene.models.layers.attention import Sequences, masked_softmax
from veriscene.models.layers.recurrence import (
    concurrently,
    gates_of,
    lstm_from,
    lstm_step,
    lstm_to_final_state,
    xavier_,
)

Choose = Callable[[int, Tensor], Tensor]  # (place, log-probabilities (batch, box, item)) -> item (batch, box)


class Memory(NamedTuple):
    """The output of the pointer's encoder."""

    outputs: Tensor  # (batch, box, item, hidden)
    state: tuple[Tensor, Tensor]  # (batch x box, hidden) each: the decoder's initial state


class Words(NamedTuple):
    """A statement as the pointer's decoder attends to it."""

    keys: Tensor  # (batch, word, hidden): B h_i, so that s' B h_i is a product with s alone
    values: Tensor  # (batch, word, hidden): the part of W [c; s] that is linear in c
    mask: Tensor  # (batch, 1, word)


class Context(NamedTuple):
    """What the pointer chooses from, and what the probability of a choice depends on."""

    words: Words
    e: Tensor  # (batch, box, item, dim)
    keys: Tensor  # (batch, box, item, hidden): the items as targets of pointing
    state: tuple[Tensor, Tensor]  # (batch x box, hidden) each: the decoder's initial state
    kept: Tensor  # (place, batch, box, hidden): the decoder's dropout mask, shared by sampling and log-probability
    counts: Tensor  # (batch, box)


class Pointer(nn.Module):
    """p(π | s, o): an LSTM encodes the items in the order given; another one points at them, one after the other.

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

    def encode(self, e: Tensor, counts: Tensor) -> Memory:
        """The encoder's hidden outputs, before dropout, and its state after each box's last item."""
        outputs, state = lstm_to_final_state(self.encoder, e.flatten(0, 1), counts.flatten())
        return Memory(outputs.view(*e.shape[:3], -1), state)

    def context(self, words: Sequences, e: Tensor, memory: Memory, counts: Tensor) -> Context:
        """Words h (batch, word, words), items e (batch, box, item, dim): all that precedes the first choice."""
        h = words.states
        own = self.attentional.weight[:, : h.size(-1)]
        attended = Words(keys=h @ self.attend.weight, values=h @ own.T, mask=words.mask[:, None])
        kept = self.dropout(memory.outputs.new_ones(e.size(2), *counts.shape, self.decoder.hidden_size))
        return Context(attended, e, self.point(self.dropout(memory.outputs)), memory.state, kept, counts)

    @torch.no_grad()
    def order(self, context: Context, choose: Choose) -> Tensor:
        """π (batch, box, item): a permutation of a box's items, followed by the padding in place."""
        e, counts, state = context.e, context.counts, context.state
        gates = gates_of(e, self.decoder)
        gate = gates_of(self.start, self.decoder).expand(counts.numel(), -1)
        slots = torch.arange(e.size(2), device=e.device)
        free, order = slots < counts[..., None], []
        for place, kept in enumerate(context.kept):
            state = lstm_step(gate, self.decoder, state)
            s = self._attentional_state(state[0].view_as(kept) * kept, context.words)
            # Past a box's last item nothing is free; then the padding at that place is chosen with certainty.
            allowed = free | ((slots == place) & (place >= counts)[..., None])
            pointing = torch.einsum("bjd,bjkd->bjk", s, context.keys)
            chosen = choose(place, pointing.masked_fill(~allowed, -torch.inf).log_softmax(dim=-1))
            order.append(chosen)
            free = free & (slots != chosen[..., None])
            gate = take_items(gates, chosen[..., None]).flatten(0, 2)
        return torch.stack(order, dim=2)

    def log_probability(self, context: Context, order: Tensor) -> Tensor:
        """log p(π | s, o), (batch,): once the order is known, all places are computed at once."""
        places, counts = order.size(2), context.counts
        read = take_items(context.e, order)[:, :, :-1]
        inputs = torch.cat([self.start.expand(*read.shape[:2], 1, -1), read], dim=2)
        outputs = lstm_from(self.decoder, inputs.flatten(0, 1), context.state).view(*counts.shape, places, -1)
        s = outputs * context.kept.permute(1, 2, 0, 3)
        s = self._attentional_state(s.flatten(1, 2), context.words).view_as(s)
        slots = torch.arange(places, device=order.device)
        place, count = slots[:, None], counts[..., None, None]
        unread = order.argsort(dim=2)[:, :, None] >= place  # (batch, box, place, item)
        allowed = unread & (slots < count) | (slots == place) & (place >= count)
        pointing = torch.einsum("bjpd,bjkd->bjpk", s, context.keys)
        log_p = pointing.masked_fill(~allowed, -torch.inf).log_softmax(dim=-1)
        return log_p.gather(3, order[..., None]).sum(dim=(1, 2, 3))

    def _attentional_state(self, s: Tensor, words: Words) -> Tensor:
        """s̃ = tanh(W [c; s]), c the words' mean under softmax_i(s' B h_i)."""
        weights = masked_softmax(torch.einsum("bjd,btd->bjt", s, words.keys), words.mask)
        own = self.attentional.weight[:, -s.size(-1) :]
        return torch.tanh(weights @ words.values + s @ own.T)


class Reading(NamedTuple):
    """All that precedes dropout and the first choice."""

    h: Tensor  # (batch, word, 2 hidden)
    e: Tensor  # (batch, box, item, dim)
    memory: Memory


@dataclass(frozen=True)
class BiATTPointerConfig(BiATTConfig):
    name: str = "biatt-pointer"


class BiATTPointer(Model):
    """In training it samples orders, and also judges as in inference for the self-critical baseline."""

    Config = BiATTPointerConfig
    summary = "BiATT-Pointer: BiATT on items in the order that a pointer network learns"
    order = Order.CHOSEN

    def __init__(
        self, *, vocabulary: Vocabulary, hidden: int, item: int, dropout: float, forget_bias: float, **others: Any
    ) -> None:
        """`others`: the settings that only BiATT needs."""
        super().__init__()
        shared: dict[str, Any] = {"hidden": hidden, "item": item, "dropout": dropout, "forget_bias": forget_bias}
        self.comprehension = BiATT(vocabulary=vocabulary, **shared, **others)
        self.pointer = Pointer(words=2 * hidden, **shared)

    def forward(self, batch: Batch) -> Judgement:
        reading = self._read(batch)
        if not self.training:
            return self._infer(batch, reading)
        judgement, baseline = concurrently(
            lambda: self._judge(batch, reading, sampled), lambda: self._baseline(batch, reading)
        )
        return replace(judgement, baseline_logits=baseline.logits)

    def judge(self, batch: Batch, choose: Choose) -> Judgement:
        """With another way to choose items, and with the probability of the resulting order."""
        return self._judge(batch, self._read(batch), choose)

    def _read(self, batch: Batch) -> Reading:
        items = required(batch.items)
        e = self.comprehension.embed_items(items.features)  # shared by pointer encoder, decoder and OBJ-LSTM
        h, memory = concurrently(
            lambda: self.comprehension.read_statement(batch.statement), lambda: self.pointer.encode(e, items.lengths)
        )
        return Reading(h, e, memory)

    def _judge(self, batch: Batch, reading: Reading, choose: Choose) -> Judgement:
        h, counts = self.comprehension.lang_lstm.dropout(reading.h), required(batch.items).lengths
        words = Sequences(h, batch.statement.lengths)
        context = self.pointer.context(words, reading.e, reading.memory, counts)
        order = self.pointer.order(context, choose)
        judgement, log_probability = concurrently(
            lambda: self._match(words, reading.e, batch, order),
            lambda: self.pointer.log_probability(context, order),
        )
        return replace(judgement, log_probability=log_probability)

    def _infer(self, batch: Batch, reading: Reading) -> Judgement:
        """Without dropout, in the most likely order, whose probability is not needed."""
        words, counts = Sequences(reading.h, batch.statement.lengths), required(batch.items).lengths
        order = self.pointer.order(self.pointer.context(words, reading.e, reading.memory, counts), greedy)
        return self._match(words, reading.e, batch, order)

    def _match(self, words: Sequences, e: Tensor, batch: Batch, order: Tensor) -> Judgement:
        items = required(batch.items)
        g = self.comprehension.read_items(take_items(e, order), items.lengths)
        return self.comprehension.match(words, Sequences(g, items.lengths), order, items.box_mask)

    def _baseline(self, batch: Batch, reading: Reading) -> Judgement:
        """As in inference. What precedes dropout is the same there, so it is not computed again."""
        with torch.no_grad(), _in_inference(self):
            return self._infer(batch, reading)


def greedy(_place: int, log_p: Tensor) -> Tensor:
    return log_p.argmax(dim=-1)


def sampled(_place: int, log_p: Tensor) -> Tensor:
    """One draw from each distribution (the Gumbel-max trick: one kernel, no host synchronisation)."""
    # Bounded away from zero: infinite noise on an excluded item (log p = -inf) would give NaN.
    noise = -torch.empty_like(log_p).exponential_().clamp_min(torch.finfo(log_p.dtype).tiny).log()
    return (log_p + noise).argmax(dim=-1)


@contextmanager
def _in_inference(module: nn.Module) -> Iterator[None]:
    was = module.training
    module.eval()
    try:
        yield
    finally:
        module.train(was)
