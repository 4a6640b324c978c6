"""The baseline: BiATT and BiATT-Pointer written with torch's own modules, and a second reference for our models.

Packed sequences, nn.LSTM and nn.LSTMCell, a second pass for the self-critical baseline, eager mode. Examples come from
a DataLoader (`loader`), or from tensors on the device without waiting for it (`Resident`). The package is imported only
to read examples, words and item features. Pooling is the paper's: max.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.distributions import Categorical
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset

from veriscene.scenes.nlvr import Example
from veriscene.tensors.items import ITEM_FEATURES, item_features
from veriscene.tensors.vocabulary import PADDING, Vocabulary

Sample = tuple[Tensor, list[Tensor], float]  # word ids (word,), three times item features (item, 9), label


class Packing(NamedTuple):
    """What `pack_padded_sequence` computes from the lengths. That function waits for the device, this does not."""

    packed: Tensor  # (value,): for each packed value, its place among the padded rows, flattened
    padded: Tensor  # (row x step,): for each place, its packed value; padding takes the zero appended to them
    original: Tensor  # (row,): undoes the sorting of rows by length
    sizes: Tensor  # (step,), on the CPU: how many rows reach each step

    @classmethod
    def of(cls, mask: Tensor, lengths: Tensor) -> Packing:
        """mask (row, step) on the device, and the same as lengths (row,) on the CPU."""
        (rows, steps), total, device = mask.shape, int(lengths.sum()), mask.device
        longest_first = mask.sum(dim=1).argsort(descending=True, stable=True)
        places = (longest_first * steps + torch.arange(steps, device=device)[:, None]).flatten()
        is_padding = (~mask[longest_first]).T.flatten().byte()
        packed = places[is_padding.argsort(stable=True)[:total]]
        padded = torch.full((rows * steps,), total, device=device)
        padded.scatter_(0, packed, torch.arange(total, device=device))
        sizes = (torch.arange(int(lengths.max())) < lengths[:, None]).sum(dim=0)
        return cls(packed, padded, longest_first.argsort(), sizes)

    def pack(self, rows: Tensor) -> PackedSequence:
        return PackedSequence(rows.flatten(0, 1).index_select(0, self.packed), self.sizes, None, self.original)

    def pad(self, outputs: PackedSequence) -> Tensor:
        values = torch.cat([outputs.data, outputs.data.new_zeros(1, outputs.data.size(1))])
        return values.index_select(0, self.padded).unflatten(0, (len(self.original), -1))


class Packings(NamedTuple):
    statements: Packing  # (batch,) rows
    statements_per_box: Packing  # (batch x box,) rows
    boxes: Packing  # (batch x box,) rows


class PlainBatch(NamedTuple):
    words: Tensor  # (batch, word)
    word_mask: Tensor  # (batch, word)
    items: Tensor  # (batch, box, item, 9)
    item_mask: Tensor  # (batch, box, item)
    labels: Tensor  # (batch,)
    lengths: Tensor  # (batch,), always on the CPU, as packing requires
    counts: Tensor  # (batch, box), always on the CPU
    packings: Packings | None = None  # None: packed by torch, from lengths and counts

    def to(self, device: torch.device | str) -> PlainBatch:
        there = [tensor.to(device, non_blocking=True) for tensor in self[:5]]
        return PlainBatch(*there, self.lengths, self.counts)

    @property
    def rows(self) -> Packings | tuple[Tensor, Tensor, Tensor]:
        """The rows of each kind of sequence, for `run_packed`: statements, statements per box, boxes."""
        if self.packings is not None:
            return self.packings
        return self.lengths, self.lengths.repeat_interleave(self.counts.size(1)), self.counts.flatten()


class PlainDataset(Dataset[Sample]):
    """Items come in a new random order each time, as in the paper, or in the order of the file."""

    def __init__(self, examples: Sequence[Example], vocabulary: Vocabulary, order: str = "random") -> None:
        self.shuffled = {"random": True, "file": False}[order]
        # Encoded once, not each time. A missing label makes the loss NaN; predictions do not need it.
        self.samples: list[Sample] = [
            (
                torch.tensor(vocabulary.encode(example.statement)),
                [torch.tensor([item_features(item) for item in box.items]) for box in example.scene.boxes],
                float("nan") if example.label is None else float(example.label),
            )
            for example in examples
        ]

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, number: int) -> Sample:
        words, boxes, label = self.samples[number]
        return words, [box[torch.randperm(len(box))] for box in boxes] if self.shuffled else boxes, label


def collate(samples: Sequence[Sample]) -> PlainBatch:
    words, scenes, labels = zip(*samples, strict=True)
    lengths = torch.tensor([len(sentence) for sentence in words])
    counts = torch.tensor([[len(box) for box in boxes] for boxes in scenes])
    items = pad_sequence([box for boxes in scenes for box in boxes], batch_first=True).unflatten(0, counts.shape)
    return PlainBatch(
        words=pad_sequence(list(words), batch_first=True, padding_value=PADDING),
        word_mask=torch.arange(int(lengths.max())) < lengths[:, None],
        items=items,
        item_mask=torch.arange(items.size(2)) < counts[..., None],
        labels=torch.tensor(labels),
        lengths=lengths,
        counts=counts,
    )


def loader(
    dataset: PlainDataset, *, batch: int = 64, device: str = "cpu", shuffle: bool = True, workers: int | None = None
) -> DataLoader[Sample]:
    """On a GPU, worker processes prepare batches meanwhile; on a CPU they would compete with the training."""
    on_gpu = torch.device(device).type == "cuda"
    count = workers if workers is not None else (4 if on_gpu else 0)
    return DataLoader(
        dataset, batch, shuffle, num_workers=count, collate_fn=collate, pin_memory=on_gpu, persistent_workers=count > 0
    )


class Resident:
    """The whole corpus as tensors on the device, where batches are gathered by index.

    The CPU knows all lengths, so it never waits for the device: shapes and packings follow from them.
    """

    def __init__(
        self, examples: Sequence[Example], vocabulary: Vocabulary, device: torch.device | str, order: str = "random"
    ) -> None:
        self.shuffled = {"random": True, "file": False}[order]
        dataset = PlainDataset(examples, vocabulary, order="file")
        self.corpus = collate([dataset[number] for number in range(len(dataset))]).to(device)

    def batches(self, size: int) -> Iterator[PlainBatch]:
        """Full batches of one epoch, in random order."""
        numbers = torch.randperm(len(self.corpus.lengths))
        there = numbers.to(self.corpus.words.device)
        for mine, theirs in zip(numbers.split(size), there.split(size), strict=True):
            if len(mine) == size:
                yield self.batch(mine, theirs)

    def batch(self, numbers: Tensor, there: Tensor) -> PlainBatch:
        """The examples with these indices, which are given on the CPU and on the device."""
        corpus = self.corpus
        lengths, counts = corpus.lengths[numbers], corpus.counts[numbers]
        longest, fullest = int(lengths.max()), int(counts.max())
        word_mask, item_mask = corpus.word_mask[:, :longest][there], corpus.item_mask[:, :, :fullest][there]
        items = corpus.items[:, :, :fullest][there]
        if self.shuffled:
            keys = torch.rand(item_mask.shape, device=items.device).masked_fill(~item_mask, 2.0)
            items = torch.take_along_dim(items, keys.argsort(dim=2)[..., None], dim=2)
        boxes = counts.size(1)
        packings = Packings(
            statements=Packing.of(word_mask, lengths),
            statements_per_box=Packing.of(word_mask.repeat_interleave(boxes, 0), lengths.repeat_interleave(boxes)),
            boxes=Packing.of(item_mask.flatten(0, 1), counts.flatten()),
        )
        words, labels = corpus.words[:, :longest][there], corpus.labels[there]
        return PlainBatch(words, word_mask, items, item_mask, labels, lengths, counts, packings)


def run_packed(lstm: nn.LSTM, rows: Tensor, lengths: Tensor | Packing) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """rows (row, step, size) -> outputs (row, step, …), zero beyond a row's length, and the last state."""
    if isinstance(lengths, Packing):
        packed, state = lstm(lengths.pack(rows))
        return lengths.pad(packed), state
    packed, state = lstm(pack_padded_sequence(rows, lengths, batch_first=True, enforce_sorted=False))
    outputs, _ = pad_packed_sequence(packed, batch_first=True, total_length=rows.size(1))
    return outputs, state


def only(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, -torch.inf)


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
    ) -> None:
        super().__init__()
        self.embed_words = nn.Embedding(vocabulary, embedding, padding_idx=PADDING)
        self.embed_items = nn.Linear(ITEM_FEATURES, item)
        self.lang_lstm = nn.LSTM(embedding, hidden, batch_first=True, bidirectional=True)
        self.obj_lstm = nn.LSTM(item, hidden, batch_first=True, bidirectional=True)
        self.b1 = nn.Linear(2 * hidden, 2 * hidden, bias=False)
        self.b2 = nn.Linear(2 * hidden, 2 * hidden, bias=False)
        self.w_lang = nn.Linear(8 * hidden, joint, bias=False)
        self.w_obj = nn.Linear(8 * hidden, joint, bias=False)
        self.word_lstm = nn.LSTM(joint, hidden, batch_first=True, bidirectional=True)
        self.item_lstm = nn.LSTM(joint, hidden, batch_first=True, bidirectional=True)
        self.first = nn.Linear(4 * hidden, mlp)
        self.last = nn.Linear(mlp, 1, bias=False)
        self.dropout = nn.Dropout(dropout)
        xavier_(self)

    def forward(self, batch: PlainBatch) -> Tensor:
        """Logits (batch,)."""
        return self.match(self.read(batch), self.embed_items(batch.items), batch)

    def read(self, batch: PlainBatch) -> Tensor:
        return self.dropout(run_packed(self.lang_lstm, self.embed_words(batch.words), batch.rows[0])[0])  # equation 1

    def match(self, h: Tensor, e: Tensor, batch: PlainBatch) -> Tensor:
        """Words h (batch, word, dim), items e (batch, box, item, dim) in reading order -> logits (batch,)."""
        boxes, (_, lengths, counts) = batch.counts.shape, batch.rows
        g = self.dropout(run_packed(self.obj_lstm, e.flatten(0, 1), counts)[0]).unflatten(0, boxes)  # equation 3
        word_mask, item_mask = batch.word_mask[:, None], batch.item_mask
        alpha = only(torch.einsum("btd,bjkd->bjtk", self.b1(h), g), item_mask[:, :, None]).softmax(dim=-1)  # 4
        beta = only(torch.einsum("bjkd,btd->bjkt", self.b2(g), h), word_mask[:, :, None]).softmax(dim=-1)  # 7
        c, d = alpha @ g, beta @ h[:, None]  # 5, 8
        own = h[:, None].expand_as(c)
        h_hat = torch.relu(self.w_lang(torch.cat([own, c, own - c, own * c], dim=-1)))  # 6
        g_hat = torch.relu(self.w_obj(torch.cat([g, d, g - d, g * d], dim=-1)))  # 9
        h_bar = self.dropout(run_packed(self.word_lstm, h_hat.flatten(0, 1), lengths)[0]).unflatten(0, boxes)  # 10
        g_bar = self.dropout(run_packed(self.item_lstm, g_hat.flatten(0, 1), counts)[0]).unflatten(0, boxes)  # 11
        steps = only(h_bar, word_mask[..., None]), only(g_bar, item_mask[..., None])
        pooled = torch.cat([outputs.amax(dim=2) for outputs in steps], dim=-1)  # 12, 13
        scores = self.last(self.dropout(torch.tanh(self.first(pooled)))).squeeze(-1)  # 14
        return scores.amax(dim=1)  # 15


class PlainBiATTPointer(PlainBiATT):
    """Section 3.2: orders are sampled in training; inference takes the most likely item at each place."""

    def __init__(self, *, vocabulary: int, hidden: int = 256, item: int = 64, **sizes: Any) -> None:
        super().__init__(vocabulary=vocabulary, hidden=hidden, item=item, **sizes)
        self.start = nn.Parameter(torch.zeros(item))
        self.encoder = nn.LSTM(item, hidden, batch_first=True)
        self.decoder = nn.LSTMCell(item, hidden)
        self.attend = nn.Linear(hidden, 2 * hidden, bias=False)
        self.attentional = nn.Linear(3 * hidden, hidden, bias=False)
        self.point = nn.Linear(hidden, hidden, bias=False)
        xavier_(self)

    def forward(self, batch: PlainBatch, orders: Tensor | None = None) -> Tensor:
        return self.order_and_match(batch, orders)[0]

    def order_and_match(self, batch: PlainBatch, orders: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Logits (batch,), log p(π | s, o) (batch,) and orders (batch, box, place), which may be given."""
        h, e = self.read(batch), self.embed_items(batch.items)
        orders, log_p = self.point_at_items(h, e, batch, orders)
        return self.match(h, torch.take_along_dim(e, orders[..., None], dim=2), batch), log_p, orders

    def point_at_items(self, h: Tensor, e: Tensor, batch: PlainBatch, orders: Tensor | None) -> tuple[Tensor, Tensor]:
        boxes = batch.counts.shape
        memory, state = run_packed(self.encoder, e.flatten(0, 1), batch.rows[2])
        keys = self.point(self.dropout(memory)).unflatten(0, boxes)
        state, item = (state[0][0], state[1][0]), self.start.expand(boxes.numel(), -1)
        free, log_p, chosen_items = batch.item_mask, e.new_zeros(len(e)), []
        padding = torch.diag_embed(~free)  # (batch, box, place, item): past a box's last item, the padding there
        for place in range(e.size(2)):
            state = self.decoder(item, state)
            s = self.dropout(state[0]).unflatten(0, boxes)
            words = only(torch.einsum("bjd,btd->bjt", self.attend(s), h), batch.word_mask[:, None]).softmax(dim=-1)
            s = torch.tanh(self.attentional(torch.cat([words @ h, s], dim=-1)))
            scores = only(torch.einsum("bjd,bjkd->bjk", s, keys), free | padding[:, :, place])
            p = Categorical(logits=scores, validate_args=False)  # validation would wait for the GPU
            if orders is not None:
                chosen = orders[:, :, place]
            else:
                # Not p.sample(): torch.multinomial checks its input on the CPU, and waits for the GPU to do so.
                weights = p.probs / torch.empty_like(scores).exponential_() if self.training else scores
                chosen = weights.argmax(dim=-1)
            log_p = log_p + p.log_prob(chosen).sum(dim=1)
            free = free.scatter(2, chosen[..., None], False)
            item = torch.take_along_dim(e, chosen[..., None, None], dim=2).flatten(0, 2)
            chosen_items.append(chosen)
        return torch.stack(chosen_items, dim=2), log_p


def loss(model: PlainBiATT, batch: PlainBatch, orders: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The loss to differentiate, and the cross entropy to report (detached); means over the batch."""
    if not isinstance(model, PlainBiATTPointer):
        cross_entropy = binary_cross_entropy_with_logits(model(batch), batch.labels)
        return cross_entropy, cross_entropy.detach()
    logits, log_p, _ = model.order_and_match(batch, orders)
    cross_entropy = binary_cross_entropy_with_logits(logits, batch.labels, reduction="none")
    was_training = model.training
    model.eval()
    with torch.no_grad():  # the self-critical baseline: the loss of inference
        baseline = binary_cross_entropy_with_logits(model(batch), batch.labels, reduction="none")
    model.train(was_training)
    advantage = cross_entropy.detach() - baseline  # -(R - b): the reward is the negative loss
    return (cross_entropy + advantage * log_p).mean(), cross_entropy.detach().mean()


def train_step(model: PlainBiATT, batch: PlainBatch, optimizer: torch.optim.Optimizer, clip: float = 5.0) -> Tensor:
    """One optimizer step on a batch from either source. Returns the mean cross entropy without waiting for it."""
    model.train()
    on_device = batch if batch.packings else batch.to(next(model.parameters()).device)
    surrogate, cross_entropy = loss(model, on_device)
    optimizer.zero_grad()
    surrogate.backward()
    nn.utils.clip_grad_norm_(model.parameters(), clip)
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
    renamed = {}
    for name, weight in ours.state_dict().items():
        new = re.sub(r"comprehension\.|matching\.|pointer\.|pool\.scorer\.|forwards\.", "", name)
        new = re.sub(r"backwards\.(\w+)", r"\1_reverse", new)  # ours: two LSTMs of one direction each
        new = re.sub(r"^(encoder\.\w+_[ih]h)$", r"\1_l0", new)  # ours: a cell
        renamed[new] = weight
    plain.load_state_dict(renamed)
