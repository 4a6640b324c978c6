"""BiATT-Pointer (section 3.2): a pointer network puts each box's items in the order that the statement asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import torch
from torch import Tensor, nn

from veriscene.models.biatt import BiATT
from veriscene.models.judgement import Judgement
from veriscene.models.layers import masked_softmax, xavier_
from veriscene.tensors.batch import Batch, take_items

Choose = Callable[[int, Tensor], Tensor]  # (place, log-probabilities (batch, box, item)) -> item (batch, box)


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

    def forward(self, h: Tensor, e: Tensor, batch: Batch, choose: Choose) -> tuple[Tensor, Tensor]:
        """Words h (batch, word, words), items e (batch, box, item, dim) -> order, log p(π | s, o) (batch,).

        `order` (batch, box, item) is a permutation of a box's items, followed by the padding where it was.
        """
        memory, state = self._glance(e, batch.counts)
        keys = self.point(memory)
        chosen_item = self.start.expand(e.size(0) * e.size(1), -1)
        free = batch.item_mask
        order, log_probability = [], e.new_zeros(len(batch))
        for place in range(e.size(2)):
            state = self.decoder(chosen_item, state)
            s = self._attentional_state(self.dropout(state[0]).unflatten(0, batch.counts.shape), h, batch.word_mask)
            allowed = self._allowed(free, place, batch.counts)
            pointing = torch.einsum("bjd,bjkd->bjk", s, keys)
            log_p = pointing.masked_fill(~allowed, -torch.inf).log_softmax(dim=-1)
            chosen = choose(place, log_p.detach())
            order.append(chosen)
            log_probability = log_probability + log_p.gather(2, chosen[..., None]).sum(dim=(1, 2))
            free = free.scatter(2, chosen[..., None], False)
            chosen_item = take_items(e, chosen[..., None]).flatten(0, 2)
        return torch.stack(order, dim=2), log_probability

    def _glance(self, e: Tensor, counts: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """The encoder's hidden outputs (batch, box, item, hidden) and its state after each box's last item."""
        state = (e.new_zeros(counts.numel(), self.encoder.hidden_size),) * 2
        outputs = []
        for step in range(e.size(2)):
            new = self.encoder(e[:, :, step].flatten(0, 1), state)
            there = (step < counts).flatten()[:, None]
            state = (torch.where(there, new[0], state[0]), torch.where(there, new[1], state[1]))
            outputs.append(state[0])
        return self.dropout(torch.stack(outputs, dim=1)).unflatten(0, counts.shape), state

    def _attentional_state(self, s: Tensor, h: Tensor, word_mask: Tensor) -> Tensor:
        """s̃ = tanh(W [c; s]), c the words' mean under softmax_i(s' B h_i)."""
        weights = masked_softmax(torch.einsum("bjd,btd->bjt", self.attend(s), h), word_mask[:, None])
        return torch.tanh(self.attentional(torch.cat([weights @ h, s], dim=-1)))

    @staticmethod
    def _allowed(free: Tensor, place: int, counts: Tensor) -> Tensor:
        """The items still to be read; past a box's last one, the padding at that place, with certainty."""
        padding = torch.arange(free.size(2), device=free.device) == place
        return torch.where((place < counts)[..., None], free, padding)


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
        with torch.no_grad(), _in_inference(self):
            baseline = self.judge(batch, greedy).logits
        return replace(self.judge(batch, sampled), baseline_logits=baseline)

    def judge(self, batch: Batch, choose: Choose) -> Judgement:
        h = self.comprehension.read_statement(batch)
        e = self.comprehension.embed_items(batch.items)  # shared by pointer encoder, pointer decoder and OBJ-LSTM
        order, log_probability = self.pointer(h, e, batch, choose)
        judgement = self.comprehension.match(h, take_items(e, order), batch, order)
        return replace(judgement, log_probability=log_probability)


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
