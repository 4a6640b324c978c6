"""Examples for the plain baseline: from a DataLoader (`loader`), or from tensors on the device (`Resident`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset

from veriscene.data.vocabulary import PADDING, Vocabulary
from veriscene.world.examples import Example
from veriscene.worlds.nlvr.looks import WORLD

Sample = tuple[Tensor, list[Tensor], float]  # word ids (word,), three times item features (item, 9), label


class PlainBatch(NamedTuple):
    words: Tensor  # (batch, word)
    word_mask: Tensor  # (batch, word)
    items: Tensor  # (batch, box, item, 9)
    item_mask: Tensor  # (batch, box, item)
    labels: Tensor  # (batch,)
    lengths: Tensor  # (batch,), always on the CPU, as packing requires
    counts: Tensor  # (batch, box), always on the CPU
    # Only from `Resident`:
    word_reversal: Tensor | None = None  # (batch, word), see `reversal`
    item_reversal: Tensor | None = None  # (batch, box, item)
    packing: PackedSequence | None = None  # see `packed_places`

    def to(self, device: torch.device | str) -> PlainBatch:
        there = [tensor.to(device, non_blocking=True) for tensor in self[:5]]
        return PlainBatch(*there, *self[5:])

    @property
    def rows(self) -> tuple[Tensor, Tensor, Tensor]:
        """What an LSTM must know of statements, statements per box, and boxes: their lengths, or their reversals."""
        statements = self.lengths if self.word_reversal is None else self.word_reversal
        boxes = self.counts if self.item_reversal is None else self.item_reversal
        return statements, statements.repeat_interleave(self.counts.size(1), dim=0), boxes.flatten(0, 1)


class PlainDataset(Dataset[Sample]):
    """Items come in a new random order each time, as in the paper, or in the order of the file."""

    def __init__(self, examples: Sequence[Example], vocabulary: Vocabulary, order: str = "random") -> None:
        self.shuffled = {"random": True, "file": False}[order]
        # Encoded once, not each time. A missing label makes the loss NaN; predictions do not need it.
        self.samples: list[Sample] = [
            (
                torch.tensor(vocabulary.encode(example.statement)),
                [torch.tensor([WORLD.features(item) for item in box.items]) for box in example.scene.boxes],
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

    The CPU knows all lengths, and with them all shapes, so it never waits for the device.
    """

    def __init__(
        self, examples: Sequence[Example], vocabulary: Vocabulary, device: torch.device | str, order: str = "random"
    ) -> None:
        self.shuffled = {"random": True, "file": False}[order]
        dataset = PlainDataset(examples, vocabulary, order="file")
        corpus = collate([dataset[number] for number in range(len(dataset))]).to(device)
        self.corpus = corpus._replace(
            word_reversal=reversal(corpus.word_mask), item_reversal=reversal(corpus.item_mask)
        )

    def batches(self, size: int, window: int = 8) -> Iterator[PlainBatch]:
        """Full batches of one epoch, in random order.

        As in ours, statements are grouped by length within each `window` batches, so that LSTMs take fewer steps.
        """
        lengths = self.corpus.lengths
        windows = torch.randperm(len(lengths)).split(size * window)
        grouped = [batch for some in windows for batch in some[lengths[some].argsort()].split(size)]
        full = [grouped[n] for n in torch.randperm(len(grouped)).tolist() if len(grouped[n]) == size]
        there = torch.cat(full).to(self.corpus.words.device).split(size)
        for mine, theirs in zip(full, there, strict=True):
            yield self.batch(mine, theirs)

    def batch(self, numbers: Tensor, there: Tensor) -> PlainBatch:
        """The examples with these indices, which are given on the CPU and on the device."""
        corpus = self.corpus
        lengths, counts = corpus.lengths[numbers], corpus.counts[numbers]
        longest, fullest = int(lengths.max()), int(counts.max())
        item_mask, items = corpus.item_mask[:, :, :fullest][there], corpus.items[:, :, :fullest][there]
        if self.shuffled:
            keys = torch.rand(item_mask.shape, device=items.device).masked_fill(~item_mask, 2.0)
            items = torch.take_along_dim(items, keys.argsort(dim=2)[..., None], dim=2)
        return PlainBatch(
            words=corpus.words[:, :longest][there],
            word_mask=corpus.word_mask[:, :longest][there],
            items=items,
            item_mask=item_mask,
            labels=corpus.labels[there],
            lengths=lengths,
            counts=counts,
            word_reversal=corpus.word_reversal[:, :longest][there],
            item_reversal=corpus.item_reversal[:, :, :fullest][there],
            packing=packed_places(counts.flatten(), items.device),
        )


def reversal(mask: Tensor) -> Tensor:
    """mask (…, step) -> (…, step): which step to read at each step to read backwards. Padding stays where it is."""
    steps = torch.arange(mask.size(-1), device=mask.device)
    return torch.where(mask, mask.sum(dim=-1, keepdim=True) - 1 - steps, steps)


def packed_places(counts: Tensor, device: torch.device) -> PackedSequence:
    """The indices of items among all places, (row x step,), packed. The CPU knows the counts (row,), and packs."""
    places = torch.arange(len(counts) * int(counts.max())).view(len(counts), -1)
    packed = pack_padded_sequence(places, counts, batch_first=True, enforce_sorted=False)
    there = [tensor.pin_memory() if device.type == "cuda" else tensor for tensor in (packed.data, packed[3])]
    data, original = (tensor.to(device, non_blocking=True) for tensor in there)  # pinned: does not wait for the device
    return PackedSequence(data, packed.batch_sizes, None, original)
