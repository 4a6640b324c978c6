"""The baseline: BiATT and BiATT-Pointer written with torch's own modules, and a second reference for our models.

Eager mode, nn.LSTM, one optimizer step per call. Two variants: examples from a DataLoader and packed sequences
(`loader`, `PackedBiLSTM`), and the corpus as tensors on the device and padded sequences (`Resident`, `PaddedBiLSTM`),
which launches fewer kernels and never waits for the device. The package is imported only to read examples, words and
item features. Pooling is the paper's: max.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, linear
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.utils.data import DataLoader

sys.path.append(str(Path(__file__).parent))  # this file may be loaded by its path
from plain_data import PlainBatch, PlainDataset, Resident, Sample, collate, loader
from veriscene.data.vocabulary import PADDING, Vocabulary
from veriscene.world.examples import Example
from veriscene.worlds.nlvr.looks import WORLD

__all__ = ["PlainDataset", "Resident", "collate", "loader"]  # imported from here


def run_packed(lstm: Callable[..., Any], rows: Tensor, lengths: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """rows (row, step, size) -> outputs (row, step, …), zero beyond a row's length, and the last state."""
    packed, state = lstm(pack_padded_sequence(rows, lengths, batch_first=True, enforce_sorted=False))
    outputs, _ = pad_packed_sequence(packed, batch_first=True, total_length=rows.size(1))
    return outputs, state


class PackedBiLSTM(nn.LSTM):
    def __init__(self, size: int, hidden: int) -> None:
        super().__init__(size, hidden, batch_first=True, bidirectional=True)

    def forward(self, values: Tensor, lengths: Tensor) -> Tensor:
        """values (row, step, size), lengths (row,) on the CPU -> (row, step, 2 hidden)."""
        return run_packed(super().forward, values, lengths)[0]


class PaddedBiLSTM(nn.Module):
    """Padding follows each row in both directions, so it needs no packing; outputs there are to be ignored."""

    def __init__(self, size: int, hidden: int) -> None:
        super().__init__()
        self.forwards, self.backwards = nn.LSTM(size, hidden), nn.LSTM(size, hidden)

    def forward(self, values: Tensor, reversal: Tensor) -> Tensor:
        """values (row, step, size), reversal (row, step) -> (row, step, 2 hidden)."""
        values, index = values.transpose(0, 1), reversal.T[..., None]  # steps first, as cuDNN wants them
        zero = values.new_zeros(1, values.size(1), self.forwards.hidden_size)
        there, _ = self.forwards(values, (zero, zero))
        back, _ = self.backwards(values.gather(0, index.expand_as(values)), (zero, zero))
        back = back.gather(0, index.expand_as(back))
        return torch.cat([there.transpose(0, 1), back.transpose(0, 1)], dim=-1)


def bias(mask: Tensor, like: Tensor) -> Tensor:
    """0 where the mask is true, -inf elsewhere: added to scores, it needs no kernel in the backward pass."""
    return torch.zeros_like(mask, dtype=like.dtype).masked_fill_(~mask, -torch.inf)


def xavier_(module: nn.Module) -> None:
    for parameter in module.parameters():
        (nn.init.xavier_uniform_ if parameter.dim() > 1 else nn.init.zeros_)(parameter)


class PlainBiATT(nn.Module):
    """Section 3.1, with the sizes of the appendix."""

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
        bilstm: type[PackedBiLSTM] | type[PaddedBiLSTM] = PackedBiLSTM,
    ) -> None:
        super().__init__()
        self.embed_words = nn.Embedding(vocabulary, embedding, padding_idx=PADDING)
        self.embed_items = nn.Linear(WORLD.feature_count, item)
        self.lang_lstm = bilstm(embedding, hidden)
        self.obj_lstm = bilstm(item, hidden)
        self.b1 = nn.Linear(2 * hidden, 2 * hidden, bias=False)
        self.b2 = nn.Linear(2 * hidden, 2 * hidden, bias=False)
        self.w_lang = nn.Linear(8 * hidden, joint, bias=False)
        self.w_obj = nn.Linear(8 * hidden, joint, bias=False)
        self.word_lstm = bilstm(joint, hidden)
        self.item_lstm = bilstm(joint, hidden)
        self.first = nn.Linear(4 * hidden, mlp)
        self.last = nn.Linear(mlp, 1, bias=False)
        self.dropout = nn.Dropout(dropout)
        xavier_(self)

    def forward(self, batch: PlainBatch) -> Tensor:
        """Logits (batch,)."""
        return self.match(self.dropout(self.read(batch)), self.embed_items(batch.items), batch)

    def read(self, batch: PlainBatch) -> Tensor:
        return self.lang_lstm(self.embed_words(batch.words), batch.rows[0])  # equation 1, before dropout

    def match(self, h: Tensor, e: Tensor, batch: PlainBatch) -> Tensor:
        """Words h (batch, word, dim), items e (batch, box, item, dim) in reading order -> logits (batch,)."""
        (size, boxes), (_, statements, scenes) = batch.counts.shape, batch.rows
        words, items = bias(batch.word_mask, h)[:, None], bias(batch.item_mask, h)[..., None]  # added to scores
        g = self.dropout(self.obj_lstm(e.flatten(0, 1), scenes))  # equation 3
        all_g = g.reshape(size, -1, g.size(-1))  # (batch, box x item, dim)
        alpha = torch.baddbmm(items.flatten(1, 2), all_g, self.b1(h).mT).view(len(g), -1, h.size(1)).softmax(dim=1)  # 4
        beta = torch.baddbmm(words, self.b2(all_g), h.mT).softmax(dim=-1)  # 7
        c, d = (alpha.mT @ g).unflatten(0, (size, boxes)), (beta @ h).view_as(g)  # 5, 8
        own = h[:, None].expand_as(c)
        h_hat = torch.relu(self.w_lang(torch.cat([own, c, own - c, own * c], dim=-1)))  # 6
        g_hat = torch.relu(self.w_obj(torch.cat([g, d, g - d, g * d], dim=-1)))  # 9
        h_bar = self.dropout(self.word_lstm(h_hat.flatten(0, 1), statements))  # 10
        g_bar = self.dropout(self.item_lstm(g_hat, scenes))  # 11
        best_word = (h_bar.unflatten(0, (size, boxes)) + words[..., None]).max(dim=2).values  # 12
        best_item = (g_bar.unflatten(0, (size, boxes)) + items).max(dim=2).values  # 13
        pooled = torch.cat([best_word, best_item], dim=-1)
        scores = self.last(self.dropout(torch.tanh(self.first(pooled)))).squeeze(-1)  # 14
        return scores.max(dim=1).values  # 15


class Reading(NamedTuple):
    """What precedes dropout, and is the same in training and in inference."""

    h: Tensor  # (batch, word, 2 hidden)
    e: Tensor  # (batch, box, item, dim)
    memory: Tensor  # (batch x box, item, hidden): the pointer's encoder
    state: tuple[Tensor, Tensor]  # (1, batch x box, hidden) each: its last state


class Context(NamedTuple):
    """What the probabilities of orders depend on, with all products that do not depend on the order."""

    e: Tensor  # (batch x box, item, dim)
    state: tuple[Tensor, Tensor]  # (1, batch x box, hidden) each: the decoder's initial state
    kept: Tensor | None  # (batch x box, place, hidden): the decoder's dropout; None in inference
    word_keys: Tensor  # (batch, hidden, word)
    word_values: Tensor  # (batch, word, hidden)
    word_bias: Tensor  # (batch, 1, word)
    item_keys: Tensor  # (batch x box, hidden, item)
    item_bias: Tensor  # (batch x box, place, item): at each place a box's items; past them, the padding there


class PlainBiATTPointer(PlainBiATT):
    """Section 3.2: orders are sampled in training; inference takes the most likely item at each place."""

    def __init__(self, *, vocabulary: int, hidden: int = 256, item: int = 64, **sizes: Any) -> None:
        super().__init__(vocabulary=vocabulary, hidden=hidden, item=item, **sizes)
        self.start = nn.Parameter(torch.zeros(item))
        self.encoder = nn.LSTM(item, hidden, batch_first=True)
        self.decoder = nn.LSTM(item, hidden, batch_first=True)
        self.attend = nn.Linear(hidden, 2 * hidden, bias=False)
        self.attentional = nn.Linear(3 * hidden, hidden, bias=False)
        self.point = nn.Linear(hidden, hidden, bias=False)
        xavier_(self)

    def forward(self, batch: PlainBatch, reading: Reading | None = None) -> Tensor:
        h, e, context = self.prepare(batch, reading)
        return self.match(h, in_order(e, self.choose(context, batch)), batch)

    def order_and_match(
        self, batch: PlainBatch, orders: Tensor | None = None, reading: Reading | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Logits (batch,), log p(π | s, o) (batch,) and orders (batch, box, place), which may be given."""
        h, e, context = self.prepare(batch, reading)
        if orders is None:
            orders = self.choose(context, batch)
        items = in_order(e, orders)
        return self.match(h, items, batch), self.log_probability(context, items, orders), orders

    def read_all(self, batch: PlainBatch) -> Reading:
        h, e = self.read(batch), self.embed_items(batch.items)
        if batch.packing is None:
            return Reading(h, e, *run_packed(self.encoder, e.flatten(0, 1), batch.counts.flatten()))
        places = batch.packing.data
        outputs, state = self.encoder(batch.packing._replace(data=e.flatten(0, 2).index_select(0, places)))
        memory = e.new_zeros(batch.item_mask.numel(), outputs.data.size(1)).index_copy(0, places, outputs.data)
        return Reading(h, e, memory.unflatten(0, (batch.counts.numel(), -1)), state)

    def prepare(self, batch: PlainBatch, reading: Reading | None) -> tuple[Tensor, Tensor, Context]:
        """Words h, after dropout, items e, and the context of orders."""
        h, e, memory, state = reading or self.read_all(batch)
        h, mask = self.dropout(h), batch.item_mask.flatten(0, 1)
        allowed = (mask[:, None] & mask[..., None]) | torch.diag_embed(~mask)
        context = Context(
            e=e.flatten(0, 1),
            state=state,
            kept=self.dropout(torch.ones_like(memory)) if self.training else None,
            word_keys=(h @ self.attend.weight).mT,
            word_values=h @ self.attentional.weight[:, : h.size(-1)].T,
            word_bias=bias(batch.word_mask, h)[:, None],
            item_keys=self.point(self.dropout(memory)).mT,
            item_bias=bias(allowed, h),
        )
        return h, e, context

    def attentional_state(self, s: Tensor, context: Context) -> Tensor:
        """s (batch, …, hidden) -> the same shape: tanh(W [c; s]), c the words' mean under softmax_i(s' B h_i)."""
        weights = torch.baddbmm(context.word_bias, s, context.word_keys).softmax(dim=-1)
        own = linear(s, self.attentional.weight[:, -s.size(-1) :])
        return torch.tanh(torch.baddbmm(own, weights, context.word_values))

    @torch.no_grad()
    def choose(self, context: Context, batch: PlainBatch) -> Tensor:
        """Orders (batch, box, place), without their probabilities: `log_probability` takes all places at once."""
        e, boxes, item = context.e, batch.counts.shape, self.start.expand(len(context.e), -1)
        state, chosen, weights = (context.state[0][0], context.state[1][0]), [], self.decoder.all_weights[0]
        still = context.item_bias.clone()
        if self.training:  # Gumbel noise: the largest of noisy scores is a sample. Zeros would make it infinite.
            still -= torch.empty_like(still).exponential_().clamp_min_(torch.finfo(still.dtype).tiny).log_()
        for place in range(e.size(1)):
            state = torch.lstm_cell(item, state, *weights)
            s = state[0] if context.kept is None else state[0] * context.kept[:, place]
            s = self.attentional_state(s.unflatten(0, boxes), context).flatten(0, 1)[:, None]
            pick = torch.baddbmm(still[:, place, None], s, context.item_keys).argmax(dim=-1, keepdim=True)
            still.scatter_(2, pick.expand(-1, e.size(1), -1), -torch.inf)
            item = e.gather(1, pick.expand(-1, -1, e.size(2)))[:, 0]
            chosen.append(pick)
        return torch.cat(chosen, dim=1).view(*boxes, -1)

    def log_probability(self, context: Context, items: Tensor, orders: Tensor) -> Tensor:
        """items (batch, box, place, dim) in these orders (batch, box, place) -> log p(π | s, o) (batch,)."""
        items, boxes, orders = items.flatten(0, 1), orders.shape[:2], orders.flatten(0, 1)
        inputs = torch.cat([self.start.expand(len(items), 1, -1), items[:, :-1]], dim=1)
        s, _ = self.decoder(inputs, context.state)
        if context.kept is not None:
            s = s * context.kept
        s = self.attentional_state(s.reshape(boxes[0], -1, s.size(-1)), context).view(s.shape)
        slots = torch.arange(orders.size(1), device=orders.device)
        place_of = torch.empty_like(orders).scatter_(1, orders, slots.expand_as(orders))
        still = context.item_bias.masked_fill(place_of[:, None] < slots[:, None], -torch.inf)
        log_p = torch.baddbmm(still, s, context.item_keys).log_softmax(dim=-1).gather(2, orders[..., None])
        return log_p.view(boxes[0], -1).sum(dim=1)


def in_order(e: Tensor, orders: Tensor) -> Tensor:
    """e (batch, box, item, dim), orders (batch, box, place) -> (batch, box, place, dim)."""
    return e.gather(2, orders[..., None].expand_as(e))


def loss(model: PlainBiATT, batch: PlainBatch, orders: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The loss to differentiate, and the cross entropy to report (detached); means over the batch."""
    if not isinstance(model, PlainBiATTPointer):
        cross_entropy = binary_cross_entropy_with_logits(model(batch), batch.labels)
        return cross_entropy, cross_entropy.detach()
    reading = model.read_all(batch)
    logits, log_p, _ = model.order_and_match(batch, orders, reading)
    cross_entropy = binary_cross_entropy_with_logits(logits, batch.labels, reduction="none")
    was_training = model.training
    model.eval()
    with torch.no_grad():  # the self-critical baseline: the loss of inference
        baseline = binary_cross_entropy_with_logits(model(batch, reading), batch.labels, reduction="none")
    model.train(was_training)
    advantage = cross_entropy.detach() - baseline  # -(R - b): the reward is the negative loss
    return (cross_entropy + advantage * log_p).mean(), cross_entropy.detach().mean()


def train_step(model: PlainBiATT, batch: PlainBatch, optimizer: torch.optim.Optimizer, clip: float = 5.0) -> Tensor:
    """One optimizer step on a batch from either source. Returns the mean cross entropy without waiting for it."""
    model.train()
    surrogate, cross_entropy = loss(model, batch.to(next(model.parameters()).device))
    optimizer.zero_grad(set_to_none=True)
    surrogate.backward()
    nn.utils.clip_grad_norm_(model.parameters(), clip, foreach=True)
    optimizer.step()
    return cross_entropy


@torch.no_grad()
def predict(model: PlainBiATT, example: Example, vocabulary: Vocabulary, order: str = "random") -> float:
    """The probability that one example's statement is true."""
    batch = collate([PlainDataset([example], vocabulary, order)[0]])
    return model.eval()(batch.to(next(model.parameters()).device)).sigmoid().item()


@torch.no_grad()
def predict_all(model: PlainBiATT, batches: DataLoader[Sample]) -> list[float]:
    """The same for every example of a loader, which must not shuffle."""
    device = next(model.parameters()).device
    return torch.cat([model.eval()(batch.to(device)).sigmoid() for batch in batches]).tolist()


def load_ours(plain: PlainBiATT, ours: nn.Module) -> None:
    """Copies the weights of the package's BiATT or BiATTPointer (pooling by max) of the same sizes."""
    packed, renamed = isinstance(plain.lang_lstm, PackedBiLSTM), {}
    for name, weight in ours.state_dict().items():
        new = re.sub(r"comprehension\.|matching\.|pointer\.|pool\.scorer\.", "", name)
        if packed:  # one LSTM of two directions; ours are two, as in PaddedBiLSTM
            new = re.sub(r"backwards\.(\w+)", r"\1_reverse", new.replace("forwards.", ""))
        renamed[re.sub(r"^((en|de)coder\.\w+_[ih]h)$", r"\1_l0", new)] = weight  # ours are cells
    plain.load_state_dict(renamed)
