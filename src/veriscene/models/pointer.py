"""BiATT-Pointer (section 3.2): a pointer network puts each box's items in the order that the statement asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor, nn

from veriscene.models.biatt import BiATT
from veriscene.models.judgement import Judgement
from veriscene.models.layers import masked_softmax, xavier_
from veriscene.models.recurrence import gates_of, lstm_step, lstm_to_the_end
from veriscene.models.streams import concurrently
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


class Pointer(nn.Module):
    """p(π | s, o): an LSTM glances at the items in the order given; another one points at them, one after the other.

    Encoder and decoder are those of pointer networks (both works that the paper builds on read in one direction);
    the decoder attends to the words by Luong's bilinear attention and points from the attentional state.
    """

    def __init__(self, *, words: int, item: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.start = nn.Parameter(torch.zeros(item))
        self.encoder = nn.LSTMCell(item, hidden)
        self.decoder = nn.LSTMCell(item, hidden)
        self.attend = nn.Linear(hidden, words, bias=False)
        self.attentional = nn.Linear(words + hidden, hidden, bias=False)
        self.point = nn.Linear(hidden, hidden, bias=False)
        self.dropout = nn.Dropout(dropout)
        xavier_(self)

    def forward(self, h: Tensor, e: Tensor, glance: Glance, batch: Batch, choose: Choose) -> tuple[Tensor, Tensor]:
        """Words h (batch, word, words), items e (batch, box, item, dim) -> order, log p(π | s, o) (batch,).

        `order` (batch, box, item) is a permutation of a box's items, followed by the padding where it was.
        """
        words = self._project(h, batch.word_mask)
        keys = self.point(self.dropout(glance.memory))
        gates, state = gates_of(e, self.decoder), glance.state
        gate = gates_of(self.start, self.decoder).expand(batch.counts.numel(), -1)
        slots = torch.arange(e.size(2), device=e.device)
        free, order, log_p = batch.item_mask, [], []
        for place in range(e.size(2)):
            state = lstm_step(gate, self.decoder, state)
            s = self._attentional_state(self.dropout(state[0]).view(*batch.counts.shape, -1), words)
            # Past a box's last item nothing is free; then the padding at that place comes, with certainty.
            allowed = free | ((slots == place) & (place >= batch.counts)[..., None])
            pointing = torch.einsum("bjd,bjkd->bjk", s, keys)
            log_p.append(pointing.masked_fill(~allowed, -torch.inf).log_softmax(dim=-1))
            chosen = choose(place, log_p[-1].detach())
            order.append(chosen)
            free = free & (slots != chosen[..., None])
            gate = take_items(gates, chosen[..., None]).flatten(0, 2)
        permutation = torch.stack(order, dim=2)
        return permutation, torch.stack(log_p, dim=2).gather(3, permutation[..., None]).sum(dim=(1, 2, 3))

    def glance(self, e: Tensor, counts: Tensor) -> Glance:
        """The encoder's hidden outputs, before dropout, and its state after each box's last item."""
        memory, state = lstm_to_the_end(self.encoder, e.flatten(0, 1), counts.flatten())
        return Glance(memory=memory.view(*e.shape[:3], -1), state=state)

    def _project(self, h: Tensor, mask: Tensor) -> Words:
        """The words' part in Luong's attention, once for all places."""
        own = self.attentional.weight[:, : h.size(-1)]
        return Words(keys=h @ self.attend.weight, values=h @ own.T, mask=mask[:, None])

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

    def __init__(self, *, comprehension: BiATT, hidden: int, dropout: float) -> None:
        super().__init__()
        self.comprehension = comprehension
        self.pointer = Pointer(
            words=2 * hidden, item=comprehension.embed_items.out_features, hidden=hidden, dropout=dropout
        )

    def forward(self, batch: Batch) -> Judgement:
        if not self.training:
            return self.judge(batch, greedy)
        reading = self._read(batch)
        judgement, baseline = concurrently(
            lambda: self._judge(batch, reading, sampled), lambda: self._baseline(batch, reading)
        )
        return replace(judgement, baseline_logits=baseline.logits)

    def judge(self, batch: Batch, choose: Choose) -> Judgement:
        return self._judge(batch, self._read(batch), choose)

    def _read(self, batch: Batch) -> Reading:
        e = self.comprehension.embed_items(batch.items)  # shared by pointer encoder, pointer decoder and OBJ-LSTM
        h, glance = concurrently(
            lambda: self.comprehension.read_statement(batch), lambda: self.pointer.glance(e, batch.counts)
        )
        return Reading(h, e, glance)

    def _judge(self, batch: Batch, reading: Reading, choose: Choose) -> Judgement:
        h, e = self.comprehension.lang_lstm.dropout(reading.h), reading.e
        order, log_probability = self.pointer(h, e, reading.glance, batch, choose)
        judgement = self.comprehension.match(h, take_items(e, order), batch, order)
        return replace(judgement, log_probability=log_probability)

    def _baseline(self, batch: Batch, reading: Reading) -> Judgement:
        """As in inference. What was read before any dropout is the same there, so it is not read again."""
        with torch.no_grad(), _in_inference(self):
            return self._judge(batch, reading, greedy)


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
