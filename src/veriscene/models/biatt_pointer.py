"""BiATT-Pointer (section 3.2): a pointer network orders the items of each box before BiATT reads them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from veriscene.config import choice, number
from veriscene.data.batch import Batch, required
from veriscene.data.items import take_items
from veriscene.data.vocabulary import Vocabulary
from veriscene.errors import InputError
from veriscene.models.base import Judgement, Model, Order, evaluating
from veriscene.models.biatt import BiATT, BiATTConfig, BiENC
from veriscene.models.layers import kernels
from veriscene.models.layers.attention import Sequences, masked_softmax
from veriscene.models.layers.pooling import SCORE_COMBINATIONS
from veriscene.models.layers.recurrence import (
    State,
    concurrently,
    gates_of,
    lstm_from,
    lstm_step,
    lstm_to_final_state,
    xavier_,
)
from veriscene.world.schema import World

Choose = Callable[[int, Tensor], Tensor]  # (place, log-probabilities (batch, box, item)) -> item (batch, box)
# All that precedes dropout and the first choice: h (batch, word, 2 hidden), e (batch, box, item, dim), and what the
# pointer's encoder makes of e.
Read = tuple[Tensor, Tensor, tuple[Tensor, State]]


SAMPLES = (
    "Orders drawn for the policy gradient, without dropout, each compared with the others of its example. 0: the order"
    " that is read is compared with the greedy one, as in the paper."
)
COMPREHENSION = (
    "What judges the items in their order. bienc: as in BiENC, where words change how items are read through the order"
    " alone."
)
RATE = (
    "Learning rate of the pointer, relative to the rest, and without weight decay, which can bring its weights to zero."
    " 0: it is trained like the rest."
)


@dataclass(frozen=True)
class BiATTPointerConfig(BiATTConfig):
    """Declares the settings of the pointer; its defaults are the paper's."""

    name: str = "biatt-pointer"
    encoder: str = choice(
        "lstm", ("lstm", "mean"), "What the pointer first reads items with. mean: no order comes in, but for ties."
    )
    comprehension: str = choice("biatt", ("biatt", "bienc"), COMPREHENSION)
    reading: str = choice("sampled", ("sampled", "greedy"), "The order that is read in training. greedy needs samples.")
    samples: int = number(0, 0, 64, SAMPLES)
    pointer_rate: float = number(0.0, 0.0, 100.0, RATE)

    def __post_init__(self) -> None:
        if self.samples == 1:
            raise InputError("model.samples=1 leaves nothing to compare an order with", allowed="0, or 2 and more")
        if self.reading == "greedy" and not self.samples:
            raise InputError("model.reading=greedy tries no other orders", allowed="set model.samples to 2 or more")
        if self.comprehension == "bienc" and self.pooling not in SCORE_COMBINATIONS:
            what = f"model.comprehension=bienc has scores of boxes, and no vectors for model.pooling={self.pooling}"
            raise InputError(what, allowed=f"choose from {', '.join(SCORE_COMBINATIONS)}")


@dataclass(frozen=True)
class Context:
    """Holds what the pointer chooses from, and what the probability of a choice depends on."""

    word_keys: Tensor  # (batch, word, hidden): B h_i, so that s' B h_i is a product with s alone
    word_values: Tensor  # (batch, word, hidden): the part of W [c; s] that is linear in c
    word_mask: Tensor  # (batch, 1, word)
    e: Tensor  # (batch, box, item, dim)
    keys: Tensor  # (batch, box, item, hidden): the items as targets of pointing
    state: State  # (batch x box, hidden) each: the decoder's initial state
    kept: Tensor  # (place, batch, box, hidden): the decoder's dropout mask, shared by sampling and log-probability
    counts: Tensor  # (batch, box)


class Pointer(nn.Module):
    """p(π | s, o): an LSTM encodes the items in the order given; another one points at them, one after the other.

    Encoder and decoder are those of pointer networks (both works that the paper builds on read in one direction). With
    `encoder = "mean"` items are encoded one by one instead, and the decoder starts from the mean of what results. The
    decoder attends to the words by Luong's bilinear attention and points from the attentional state.
    """

    def __init__(self, config: BiATTPointerConfig) -> None:
        super().__init__()
        item, hidden, words = config.item, config.hidden, 2 * config.hidden
        self.start = nn.Parameter(torch.zeros(item))
        self.encoder = nn.LSTMCell(item, hidden) if config.encoder == "lstm" else nn.Linear(item, hidden)
        self.decoder = nn.LSTMCell(item, hidden)
        self.attend = nn.Linear(hidden, words, bias=False)
        self.attentional = nn.Linear(words + hidden, hidden, bias=False)
        self.point = nn.Linear(hidden, hidden, bias=False)
        self.dropout = nn.Dropout(config.dropout)
        xavier_(self, forget_bias=config.forget_bias)

    def encode(self, e: Tensor, counts: Tensor) -> tuple[Tensor, State]:
        """Returns the hidden outputs (batch, box, item, hidden), before dropout, and the state after each box's last
        item."""
        if isinstance(self.encoder, nn.Linear):
            outputs = torch.tanh(self.encoder(e))
            present = torch.arange(e.size(2), device=e.device) < counts[..., None]
            # Under autocast sums are in single precision, and the decoder's state must not be.
            mean = ((outputs * present[..., None]).sum(dim=2) / counts[..., None]).to(outputs.dtype)
            return outputs, (mean.flatten(0, 1), torch.zeros_like(mean).flatten(0, 1))
        outputs, state = lstm_to_final_state(self.encoder, e.flatten(0, 1), counts.flatten())
        return outputs.view(*e.shape[:3], -1), state

    def context(self, words: Sequences, e: Tensor, encoded: tuple[Tensor, State], counts: Tensor) -> Context:
        """Words h (batch, word, words), items e (batch, box, item, dim): all that precedes the first choice."""
        h, (outputs, state) = words.states, encoded
        of_words = self.attentional.weight[:, : h.size(-1)]
        kept = self.dropout(outputs.new_ones(e.size(2), *counts.shape, self.decoder.hidden_size))
        return Context(
            word_keys=h @ self.attend.weight,
            word_values=h @ of_words.T,
            word_mask=words.mask[:, None],
            e=e,
            keys=self.point(self.dropout(outputs)),
            state=state,
            kept=kept,
            counts=counts,
        )

    @torch.no_grad()
    def order(self, context: Context, choose: Choose) -> Tensor:
        """π (batch, box, item): a permutation of a box's items, followed by the padding in place."""
        if choose in (greedy, sampled) or isinstance(choose, Drawn):
            fused = kernels.load("fused_pointing", context.keys.device)
            if fused is not None and fused.fits(context.keys):
                return self._order_on_gpu(context, choose, fused)
        e, counts, state = context.e, context.counts, context.state
        gates = gates_of(e, self.decoder)
        gate = gates_of(self.start, self.decoder).expand(counts.numel(), -1)
        slots = torch.arange(e.size(2), device=e.device)
        free, order = slots < counts[..., None], []
        for place, kept in enumerate(context.kept):
            state = lstm_step(gate, self.decoder, state)
            s = self._attentional_state(state[0].view_as(kept) * kept, context)
            # Past a box's last item nothing is free; then the padding at that place is chosen with certainty.
            allowed = free | ((slots == place) & (place >= counts)[..., None])
            pointing = torch.einsum("bjd,bjkd->bjk", s, context.keys)
            chosen = choose(place, pointing.masked_fill(~allowed, -torch.inf).log_softmax(dim=-1))
            order.append(chosen)
            free = free & (slots != chosen[..., None])
            gate = take_items(gates, chosen[..., None]).flatten(0, 2)
        return torch.stack(order, dim=2)

    def _order_on_gpu(self, context: Context, choose: Choose, fused: Any) -> Tensor:
        """As `order`, with one kernel for each choice."""
        noise = choose.noise if isinstance(choose, Drawn) else sampler(context.e).noise if choose is sampled else None
        gates, state = gates_of(context.e, self.decoder), context.state
        gate = gates_of(self.start, self.decoder).expand(context.counts.numel(), -1)
        order = context.counts.new_empty(context.e.shape[:3])
        for place, kept in enumerate(context.kept):
            state = lstm_step(gate, self.decoder, state)
            s = state[0].view_as(kept) * kept
            words = context.word_keys, context.word_values, context.word_mask
            own = s @ self._of_state().T
            gate = fused.choose(place, s, own, *words, context.keys, context.counts, gates, noise, order)
        return order

    def log_probability(self, context: Context, order: Tensor) -> tuple[Tensor, Tensor]:
        """log p(π | s, o), (batch,), and the entropy of the choices that lead to π, added up, (batch,): once the order
        is known, all places are computed at once."""
        places, counts = order.size(2), context.counts
        read = take_items(context.e, order)[:, :, :-1]
        inputs = torch.cat([self.start.expand(*read.shape[:2], 1, -1), read], dim=2)
        outputs = lstm_from(self.decoder, inputs.flatten(0, 1), context.state).view(*counts.shape, places, -1)
        s = outputs * context.kept.permute(1, 2, 0, 3)
        s = self._attentional_state(s.flatten(1, 2), context).view_as(s)
        slots = torch.arange(places, device=order.device)
        place, count = slots[:, None], counts[..., None, None]
        unread = order.argsort(dim=2)[:, :, None] >= place  # (batch, box, place, item)
        allowed = unread & (slots < count) | (slots == place) & (place >= count)
        pointing = torch.einsum("bjpd,bjkd->bjpk", s, context.keys)
        log_p = pointing.masked_fill(~allowed, -torch.inf).log_softmax(dim=-1)
        entropy = -(log_p.exp() * log_p.masked_fill(~allowed, 0)).sum(dim=(1, 2, 3))
        return log_p.gather(3, order[..., None]).sum(dim=(1, 2, 3)), entropy

    def _attentional_state(self, s: Tensor, context: Context) -> Tensor:
        """s̃ = tanh(W [c; s]), c the words' mean under softmax_i(s' B h_i)."""
        weights = masked_softmax(torch.einsum("bjd,btd->bjt", s, context.word_keys), context.word_mask)
        return torch.tanh(weights @ context.word_values + s @ self._of_state().T)

    def _of_state(self) -> Tensor:
        """The part of W in W [c; s] that belongs to s."""
        return self.attentional.weight[:, -self.decoder.hidden_size :]


class BiATTPointer(Model):
    """In training it samples orders, and also judges as in inference for the self-critical baseline."""

    Config = BiATTPointerConfig
    summary = "BiATT-Pointer: BiATT on items in the order that a pointer network learns"
    order = Order.CHOSEN
    config: BiATTPointerConfig

    def __init__(self, config: BiATTPointerConfig, vocabulary: Vocabulary, world: World) -> None:
        super().__init__(config, vocabulary, world)
        kind = BiATT if config.comprehension == "biatt" else BiENC
        self.comprehension = kind(config, vocabulary, world)
        self.pointer = Pointer(config)

    def forward(self, batch: Batch) -> Judgement:
        read = self._read(batch)
        if not self.training:
            return self._judge(batch, read, greedy)
        if self.config.samples:
            # Noise is drawn before the branches part: the branches of a graph are recorded in another order.
            choose = greedy if self.config.reading == "greedy" else sampler(read[1])
            several = sampler(read[1], self.config.samples)
            judgement, tried = concurrently(
                lambda: self._judge(batch, read, choose), lambda: self._try(batch, read, several)
            )
            return replace(judgement, **tried)

        def baseline() -> Judgement:
            """As in inference. What precedes dropout is the same there, so it is not computed again."""
            with torch.no_grad(), evaluating(self):
                return self._judge(batch, read, greedy)

        judgement, inferred = concurrently(lambda: self._judge(batch, read, sampled, probability=True), baseline)
        return replace(judgement, baseline_logits=inferred.logits)

    def _try(self, batch: Batch, read: Read, choose: Choose) -> dict[str, Tensor]:
        """Draws `samples` orders for each example and judges them as in inference: what the policy gradient needs.

        Dropout would add its own noise to their losses, which differ little. All are drawn at once: (batch x sample).
        """
        count, (h, e, (outputs, state)) = self.config.samples, read
        rows = len(batch), count

        def repeated(tensor: Tensor) -> Tensor:
            return tensor[:, None].expand(*rows, *tensor.shape[1:]).flatten(0, 1)

        hidden, memory = (repeated(part.view(len(batch), -1, part.size(-1))).flatten(0, 1) for part in state)
        with evaluating(self):
            again = self._judge(
                batch.map(repeated),
                (repeated(h), repeated(e), (repeated(outputs), (hidden, memory))),
                choose,
                probability=True,
                comprehending=False,
            )
        return {
            "log_probability": required(again.log_probability).view(rows),
            "entropy": required(again.entropy).view(rows).mean(dim=1),
            "sampled_logits": again.logits.view(rows),
        }

    def judge(self, batch: Batch, choose: Choose) -> Judgement:
        """Judges with another way to choose items, and with the probability of the resulting order."""
        return self._judge(batch, self._read(batch), choose, probability=True)

    def _read(self, batch: Batch) -> Read:
        items = required(batch.items)
        e = self.comprehension.embed_items(items.features)  # shared by pointer encoder, decoder and OBJ-LSTM
        h, encoded = concurrently(
            lambda: self.comprehension.read_statement(batch.statement), lambda: self.pointer.encode(e, items.lengths)
        )
        return h, e, encoded

    def _judge(
        self, batch: Batch, read: Read, choose: Choose, *, probability: bool = False, comprehending: bool = True
    ) -> Judgement:
        """`probability` asks for that of the order, too; without `comprehending` logits have no gradient."""
        (h, e, encoded), items = read, required(batch.items)
        words = Sequences(self.comprehension.lang_lstm.dropout(h), batch.statement.lengths)
        context = self.pointer.context(words, e, encoded, items.lengths)
        order = self.pointer.order(context, choose)

        def match() -> Judgement:
            with nullcontext() if comprehending else torch.no_grad():
                g = self.comprehension.read_items(take_items(e, order), items.lengths)
                return self.comprehension.match(words, Sequences(g, items.lengths), order, items.box_mask)

        if not probability:
            return match()
        judgement, (log_p, entropy) = concurrently(match, lambda: self.pointer.log_probability(context, order))
        return replace(judgement, log_probability=log_p, entropy=entropy)

    def parameter_groups(self) -> list[dict[str, Any]]:
        if not self.config.pointer_rate:
            return super().parameter_groups()
        return [
            {"params": list(self.comprehension.parameters())},
            {"params": list(self.pointer.parameters()), "rate": self.config.pointer_rate, "decay": 0.0},
        ]


def greedy(_place: int, log_p: Tensor) -> Tensor:
    return log_p.argmax(dim=-1)


def sampled(_place: int, log_p: Tensor) -> Tensor:
    """Draws once from each distribution (the Gumbel-max trick: one kernel, no host synchronisation)."""
    return (log_p + _gumbel(torch.empty_like(log_p))).argmax(dim=-1)


@dataclass(frozen=True, eq=False)
class Drawn:
    """Is like `sampled`, with the noise of all places drawn before: (batch, box, place, item)."""

    noise: Tensor

    def __call__(self, place: int, log_p: Tensor) -> Tensor:
        return (log_p + self.noise[:, :, place]).argmax(dim=-1)


def sampler(e: Tensor, samples: int = 1) -> Drawn:
    """Draws the noise of choices among items e (batch, box, item, dim), or of several choices for each example."""
    batch, boxes, items, _ = e.shape
    dtype = torch.promote_types(e.dtype, torch.float32)
    # Examples come first, so that those that fill up a batch do not change the noise of the others.
    return Drawn(_gumbel(torch.empty(batch * samples, boxes, items, items, dtype=dtype, device=e.device)))


def _gumbel(noise: Tensor) -> Tensor:
    # Bounded away from zero: infinite noise on an excluded item (log p = -inf) would give NaN.
    return -noise.exponential_().clamp_min(torch.finfo(noise.dtype).tiny).log()
