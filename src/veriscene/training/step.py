"""One training step, eager or captured as a CUDA graph. Both compute the same.

A small, sequential model spends its time launching kernels. A graph launches a whole step at once: gathering the batch
from the corpus, both passes of the pointer, the gradient, clipping and the update. With several processes there are two
graphs, and one all-reduce of all gradients between them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

from veriscene.config import TrainingConfig
from veriscene.data.batch import Batch, required
from veriscene.data.encoder import ItemOrder
from veriscene.models.base import Model
from veriscene.models.layers import kernels
from veriscene.training.half import HalfWeights
from veriscene.training.optimization import Loss, objective, r_drop
from veriscene.training.source import Epoch

# Statements and boxes are padded to multiples of these, so that few graphs are captured; towers have up to four items.
LENGTH_STEP, ITEMS_STEP = 4, 4
MAX_UNREAD_LOSSES = 4096  # steps between two reads of their sum
SHOWN_NAMES = 64  # of a batch whose loss is not finite


@dataclass(eq=False)
class Step(ABC):
    """Learns from some examples of a corpus."""

    model: Model
    optimizer: torch.optim.Optimizer
    settings: TrainingConfig
    order: ItemOrder  # whether a second pass over a batch (R-Drop) may read its items in another order
    processes: int = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        self.parameters = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        self.gradients = FlatGradients(self.parameters) if self.processes > 1 else None
        self.in_half = HalfWeights(self.model)

    @abstractmethod
    def __call__(self, corpus: Batch, numbers: Tensor, share: Tensor, *, learning_rate: float) -> Tensor:
        """Learns from the examples with these indices, each with its share in the mean over all processes. Returns this
        process's part of the mean loss, without waiting for the device; it is not finite either if the gradient's norm
        is not."""

    def _backward(self, batch: Batch, share: Tensor) -> Tensor:
        self.model.train()
        self.optimizer.zero_grad(set_to_none=True)
        loss = self._loss(batch)
        torch.autograd.backward((loss.surrogate * share).sum())
        for parameter in self.parameters:
            if parameter.grad is None:  # not used by this batch; every parameter has moments all the same
                parameter.grad = torch.zeros_like(parameter)
        if self.gradients is not None:
            self.gradients.collect()
        return (loss.comprehension * share).sum()

    def _update(self, loss: Tensor) -> Tensor:
        """Clips the gradient and follows it; returns the loss, or NaN if the gradient's norm is not finite."""
        if self.gradients is not None:
            norm = self.gradients.clip(self.settings.clip)
        else:
            norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip)
        self.optimizer.step()
        return torch.add(loss, norm, alpha=0)

    def _loss(self, batch: Batch) -> Loss:
        settings = self.settings
        if settings.r_drop:
            batch = batch.concatenated(self._second_reading(batch))
        labels, device = required(batch.labels), batch.device.type
        # Without autocast's cache, which would reuse weights cast under no_grad where gradients are needed.
        half = settings.precision == "bf16" and device == "cuda"
        with torch.autocast(device, torch.bfloat16, enabled=half, cache_enabled=False):
            judgement = self.in_half(batch) if half and kernels.enabled else self.model(batch)
        loss = objective(
            judgement,
            labels,
            smoothing=settings.label_smoothing,
            policy_weight=settings.policy_weight,
            entropy_weight=settings.entropy_weight,
        )
        return r_drop(loss, judgement.logits, weight=settings.r_drop) if settings.r_drop else loss

    def _second_reading(self, batch: Batch) -> Batch:
        if batch.items is None or self.order is not ItemOrder.RANDOM:
            return batch
        keys = torch.rand(batch.items.features.shape[:3], device=batch.device)
        return replace(batch, items=batch.items.shuffled(keys))


class PlainStep(Step):
    """Runs a step eagerly, on any device."""

    def __call__(self, corpus: Batch, numbers: Tensor, share: Tensor, *, learning_rate: float) -> Tensor:
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate * group.get("rate", 1.0)
        loss = self._backward(corpus[numbers.to(corpus.device)], share.to(corpus.device))
        if self.gradients is not None:
            self.gradients.all_reduce()
        return self._update(loss)


class CapturedStep(Step):
    """Runs a step on a CUDA device. Captures graphs for each shape when it first occurs, and replays them from then on.

    The optimizer must be capturable. Corpora may differ from the first one in everything but their shapes.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self.loaded: Batch | None = None
        device, size = next(self.model.parameters()).device, -(-self.settings.batch // self.processes)
        self.numbers = torch.zeros(size, dtype=torch.int64, device=device)
        self.share = torch.zeros(size, device=device)
        for group in self.optimizer.param_groups:
            group["lr"] = torch.zeros((), device=device)
        self.graphs: dict[tuple[int, int], tuple[list[torch.cuda.CUDAGraph], Tensor]] = {}
        self.pool = torch.cuda.graph_pool_handle()
        # Branches of a graph use the same weights on several streams, on purpose; autograd would warn about it.
        torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False)

    def __call__(self, corpus: Batch, numbers: Tensor, share: Tensor, *, learning_rate: float) -> Tensor:
        self._load(corpus)
        longest, fullest = int(self.lengths[numbers].max()), int(self.counts[numbers].max())
        words, items = corpus.statement.words.size(1), corpus.items.features.size(2) if corpus.items else 1
        shape = min(_up(longest, LENGTH_STEP), words), min(_up(fullest, ITEMS_STEP), items)
        numbers, share = padded(numbers, share, size=len(self.numbers))
        self.numbers.copy_(numbers, non_blocking=True)
        self.share.copy_(share, non_blocking=True)
        for group in self.optimizer.param_groups:
            group["lr"].fill_(learning_rate * group.get("rate", 1.0))
        if shape not in self.graphs:
            self.graphs[shape] = self.capture(*shape)
        (first, *rest), loss = self.graphs[shape]
        first.replay()
        if self.gradients is not None:
            self.gradients.all_reduce()
        for graph in rest:
            graph.replay()
        return loss

    def _load(self, corpus: Batch) -> None:
        """A graph reads fixed memory, so every field of a new corpus is copied there.

        Pixels and features take gigabytes and are usually the same tensor in every epoch. They are read where they are;
        if one is replaced, graphs are captured again.
        """
        if corpus is self.loaded:
            return
        if self.loaded is None:
            shared = [corpus.pixels, corpus.features]
            self.corpus = corpus.map(lambda tensor: tensor if any(tensor is own for own in shared) else tensor.clone())
        else:
            before, self.corpus = self.corpus, self.corpus.map(_updated, corpus, self.loaded)
            if any(own is not new for own, new in zip(before.tensors(), self.corpus.tensors(), strict=True)):
                self.graphs.clear()
                self.pool = torch.cuda.graph_pool_handle()  # a pool ends with its last graph
        self.lengths = corpus.statement.lengths.cpu()
        items = corpus.items
        self.counts = torch.ones_like(self.lengths) if items is None else items.counts.amax(dim=1).cpu()
        self.loaded = corpus

    def _forward_backward(self, words: int, items: int) -> Tensor:
        return self._backward(self.corpus.select(self.numbers, words=words, items=items), self.share)

    def capture(self, words: int, items: int) -> tuple[list[torch.cuda.CUDAGraph], Tensor]:
        """Captures a step of this shape: its graphs, and where they leave the loss. Weights, moments and random numbers
        stay as they are."""
        with self._unchanged():
            side: torch.cuda.Stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                # Libraries initialise in their first calls, which cannot be captured. Processes may capture at
                # different steps, so nothing is communicated here.
                for _ in range(2):
                    self._update(self._forward_backward(words, items))
            torch.cuda.current_stream().wait_stream(side)
        graphs, saved = [torch.cuda.CUDAGraph()], list[Tensor]()

        def keep(tensor: Tensor) -> Tensor:
            saved.append(tensor.detach())  # the tensor itself would refer to the node that saves it
            return saved[-1]

        # Branches are parallel in the backward pass, too. A saved tensor would be freed once the last node that reads
        # it is recorded; its stream would then write something else there, perhaps before another stream has read it.
        with (
            torch.cuda.graph(graphs[0], pool=self.pool),
            torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor),
        ):
            loss = self._forward_backward(words, items)
            if self.gradients is None:
                loss = self._update(loss)
        saved.clear()
        if self.gradients is not None:
            graphs.append(torch.cuda.CUDAGraph())
            with torch.cuda.graph(graphs[1], pool=self.pool):
                loss = self._update(loss)
        return graphs, loss

    @contextmanager
    def _unchanged(self) -> Iterator[None]:
        """Restores parameters, buffers, optimizer state and random generator afterwards."""
        generator = torch.cuda.get_rng_state()
        weights = {name: tensor.detach().clone() for name, tensor in self.model.state_dict().items()}
        moments = {
            parameter: {name: value.clone() for name, value in state.items()}
            for parameter, state in self.optimizer.state.items()
        }
        try:
            yield
        finally:
            with torch.no_grad():
                for name, tensor in self.model.state_dict().items():
                    tensor.copy_(weights[name])
                for parameter, state in self.optimizer.state.items():
                    for name, value in state.items():
                        before = moments.get(parameter, {}).get(name)
                        value.copy_(before) if before is not None else value.zero_()
            torch.cuda.set_rng_state(generator)


class FlatGradients:
    """Keeps all gradients in one buffer, so that processes exchange them in one all-reduce."""

    def __init__(self, parameters: list[nn.Parameter]) -> None:
        self.parameters = parameters
        self.flat = torch.cat([torch.zeros_like(parameter).flatten() for parameter in self.parameters])
        pieces = torch.split(self.flat, [parameter.numel() for parameter in self.parameters])
        self.views = [piece.view_as(parameter) for piece, parameter in zip(pieces, self.parameters, strict=True)]

    def collect(self) -> None:
        """Copies the gradients into the buffer, and makes its parts the parameters' gradients."""
        torch._foreach_copy_(self.views, [required(parameter.grad) for parameter in self.parameters])
        for parameter, view in zip(self.parameters, self.views, strict=True):
            parameter.grad = view

    def clip(self, most: float) -> Tensor:
        """Clips as clip_grad_norm_ does, but with one norm over the buffer, which it returns."""
        norm: Tensor = torch.linalg.vector_norm(self.flat)
        self.flat.mul_((most / (norm + 1e-6)).clamp_max(1.0))
        return norm

    def all_reduce(self) -> None:
        """Sums over processes; each example's share already divides by the size of the whole batch."""
        torch.distributed.all_reduce(self.flat)


def _up(number: int, step: int) -> int:
    return -(-number // step) * step


def _updated(own: Tensor, new: Tensor, loaded: Tensor) -> Tensor:
    if new is loaded:
        return own
    return new if own is loaded else own.copy_(new)


def padded(numbers: Tensor, share: Tensor, *, size: int) -> tuple[Tensor, Tensor]:
    """Brings a short batch to full size: its examples, which fit its shape, are repeated in turn with a share of zero,
    so that the batch's statistics stay about the same."""
    missing = size - len(numbers)
    return numbers[torch.arange(size) % len(numbers)], torch.cat([share, share.new_zeros(missing)])


# ---------------------------------------------------------------- the sum of the losses


class NotFinite(Exception):
    """Some losses are not finite: those of the last `steps` steps. `names` tells the first one's examples."""

    def __init__(self, steps: int, names: str) -> None:
        super().__init__(names)
        self.steps, self.names = steps, names


class RunningLoss:
    """Sums the losses, and knows which batch made the sum infinite or NaN.

    It keeps the sum after each step on the device, in one addition, and reads it only when it is asked for."""

    def __init__(self, start: float, device: torch.device) -> None:
        self.sums = torch.full((MAX_UNREAD_LOSSES + 1,), start, dtype=torch.float64, device=device)
        self.places = self.sums.unbind()
        self.batches: list[tuple[Epoch, Tensor]] = []  # since the last read: the epoch, and the indices in it

    @property
    def is_full(self) -> bool:
        """Returns whether the sum must be read before another loss is added."""
        return len(self.batches) == MAX_UNREAD_LOSSES

    def add(self, loss: Tensor, epoch: Epoch, numbers: Tensor) -> None:
        """Adds the loss of a step without waiting for the device."""
        at = len(self.batches)
        torch.add(self.places[at], loss, out=self.places[at + 1])
        self.batches.append((epoch, numbers))

    def read(self) -> float:
        """Returns the sum, for which it waits for the device; raises NotFinite if it is not finite."""
        last = self.places[len(self.batches)]
        value = float(last)
        if not math.isfinite(value):
            finite = int(self.sums[: len(self.batches) + 1].isfinite().sum())  # what follows is not finite either
            if not finite:
                raise NotFinite(len(self.batches), "")
            epoch, numbers = self.batches[finite - 1]
            names = epoch.names(numbers)
            more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
            raise NotFinite(len(self.batches) - finite, ", ".join(names[:SHOWN_NAMES]) + more)
        self.places[0].copy_(last)
        self.batches.clear()
        return value

    def reset(self) -> None:
        """Begins a new sum."""
        self.places[0].zero_()
        self.batches.clear()
