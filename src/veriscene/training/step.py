"""One step of training: plainly, and recorded as a CUDA graph. The two compute the same.

A small, sequential model spends its time launching kernels. A graph launches all of a step at once: the gathering of
the batch out of the corpus, both passes of the pointer, the gradient, the clipping and Adam.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol

import torch
from accelerate import Accelerator
from torch import Tensor, nn

from veriscene.config import TrainingConfig
from veriscene.tensors.batch import Batch, ItemOrder
from veriscene.training.objective import Loss, agreeing, objective
from veriscene.training.sharpness import uphill

LENGTH_STEP = 4  # statements are padded to a multiple of it, so that few graphs are recorded

CHANGING = ("words", "items", "positions")  # what an epoch draws anew


class Step(Protocol):
    """Learns from the examples of these numbers, each with its share in the mean; gives the mean loss, unread."""

    def __call__(self, corpus: Batch, numbers: Tensor, share: Tensor, *, learning_rate: float) -> Tensor: ...


def _loss(model: nn.Module, batch: Batch, settings: TrainingConfig, order: ItemOrder) -> Loss:
    if settings.agreement:
        batch = batch.followed_by(batch.shuffled() if order is ItemOrder.RANDOM else batch)
    assert batch.labels is not None
    device = batch.items.device.type
    # Without its cache, which would keep weights that were cast where no gradient is wanted for where one is.
    half = settings.precision == "bf16" and device == "cuda"
    with torch.autocast(device, torch.bfloat16, enabled=half, cache_enabled=False):
        judgement = model(batch)
    loss = objective(judgement, batch.labels, smoothing=settings.label_smoothing, policy_weight=settings.policy_weight)
    return agreeing(loss, judgement.logits, weight=settings.agreement) if settings.agreement else loss


class PlainStep:
    """Works on every device and in several processes."""

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        settings: TrainingConfig,
        accelerator: Accelerator,
        order: ItemOrder,
    ) -> None:
        """`order` says how an example's items may be read a second time."""
        self.model, self.optimizer, self.settings, self.accelerator = model, optimizer, settings, accelerator
        self.order = order

    def __call__(self, corpus: Batch, numbers: Tensor, share: Tensor, *, learning_rate: float) -> Tensor:
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        device = corpus.words.device
        batch, share = corpus[numbers.to(device)], share.to(device)
        self.model.train()
        self.optimizer.zero_grad(set_to_none=True)
        loss = _loss(self.model, batch, self.settings, self.order)
        self.accelerator.backward((loss.surrogate * share).sum())
        if self.settings.sharpness:
            with uphill(self.model, self.settings.sharpness):
                higher = _loss(self.model, batch, self.settings, self.order)
                self.accelerator.backward((higher.surrogate * share).sum())
        self.accelerator.clip_grad_norm_(self.model.parameters(), self.settings.clip)
        self.optimizer.step()
        return (loss.comprehension * share).sum()


def filled_up(numbers: Tensor, share: Tensor, *, size: int) -> tuple[Tensor, Tensor]:
    """A short batch in full size: one of its own examples, which fits its shape, comes again without a share."""
    missing = size - len(numbers)
    return torch.cat([numbers, numbers[:1].expand(missing)]), torch.cat([share, share.new_zeros(missing)])


class CapturedStep:
    """On one CUDA device. Records a graph for each shape when it first occurs, and replays it from then on."""

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        corpus: Batch,
        settings: TrainingConfig,
        order: ItemOrder,
    ) -> None:
        """The optimiser must be capturable. The corpus is copied; later ones may differ in all but their lengths."""
        self.model, self.optimizer, self.settings, self.order = model, optimizer, settings, order
        self.corpus = replace(corpus, **{name: getattr(corpus, name).clone() for name in CHANGING})
        self.held: Batch | None = None
        self.lengths, self.fullest = corpus.lengths.cpu(), corpus.counts.amax(dim=1).cpu()
        device = corpus.words.device
        self.numbers = torch.zeros(settings.batch, dtype=torch.int64, device=device)
        self.share = torch.zeros(settings.batch, device=device)
        for group in optimizer.param_groups:
            group["lr"] = torch.zeros((), device=device)
        self.graphs: dict[tuple[int, int], tuple[torch.cuda.CUDAGraph, Tensor]] = {}
        self.pool = torch.cuda.graph_pool_handle()
        # Branches of a graph use the same weights on several streams, on purpose; autograd would warn of it.
        torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False)

    def __call__(self, corpus: Batch, numbers: Tensor, share: Tensor, *, learning_rate: float) -> Tensor:
        self._take(corpus)
        longest = min(-(-int(self.lengths[numbers].max()) // LENGTH_STEP) * LENGTH_STEP, corpus.words.size(1))
        shape = (longest, int(self.fullest[numbers].max()))
        numbers, share = filled_up(numbers, share, size=self.settings.batch)
        self.numbers.copy_(numbers, non_blocking=True)
        self.share.copy_(share, non_blocking=True)
        for group in self.optimizer.param_groups:
            group["lr"].fill_(learning_rate)
        if shape not in self.graphs:
            self.graphs[shape] = self._record(*shape)
        graph, loss = self.graphs[shape]
        graph.replay()
        return loss

    def _take(self, corpus: Batch) -> None:
        """A graph reads from fixed memory, so what is new in an epoch is copied there."""
        if corpus is not self.held:
            for name in CHANGING:
                getattr(self.corpus, name).copy_(getattr(corpus, name))
            self.held = corpus

    def _learn(self, longest: int, fullest: int) -> Tensor:
        batch = self.corpus.padded_to(self.numbers, words=longest, items=fullest)
        self.model.train()
        self.optimizer.zero_grad(set_to_none=True)
        loss = _loss(self.model, batch, self.settings, self.order)
        torch.autograd.backward((loss.surrogate * self.share).sum())
        if self.settings.sharpness:
            with uphill(self.model, self.settings.sharpness):
                higher = _loss(self.model, batch, self.settings, self.order)
                torch.autograd.backward((higher.surrogate * self.share).sum())
        nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip, foreach=True)
        self.optimizer.step()
        return (loss.comprehension * self.share).sum()

    def _record(self, longest: int, fullest: int) -> tuple[torch.cuda.CUDAGraph, Tensor]:
        with self._unchanged():
            side: torch.cuda.Stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(2):  # libraries set themselves up in their first calls, which cannot be recorded
                    self._learn(longest, fullest)
            torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            loss = self._learn(longest, fullest)
        return graph, loss

    @contextmanager
    def _unchanged(self) -> Iterator[None]:
        """Weights, optimiser and generator as they were, whatever is tried inside."""
        generator = torch.cuda.get_rng_state()
        weights = [parameter.detach().clone() for parameter in self.model.parameters()]
        moments = {
            parameter: {name: value.clone() for name, value in state.items()}
            for parameter, state in self.optimizer.state.items()
        }
        try:
            yield
        finally:
            with torch.no_grad():
                for parameter, weight in zip(self.model.parameters(), weights, strict=True):
                    parameter.copy_(weight)
                    for name, value in self.optimizer.state[parameter].items():
                        before = moments.get(parameter, {}).get(name)
                        value.copy_(before) if before is not None else value.zero_()
            torch.cuda.set_rng_state(generator)
