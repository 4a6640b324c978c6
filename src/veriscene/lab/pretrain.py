"""Training of networks that see, on rendered scenes: what is where in each box.

`eyes` are trained on distorted pictures and used as they are. Of `resnet50-rendered`, the convolution that predicts
what is where is thrown away afterwards, and the backbone is what remains.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from veriscene.errors import InputError
from veriscene.lab import rendered
from veriscene.lab.describing import DescribingBackbone
from veriscene.lab.rendered import Draw, Rendered, Sample
from veriscene.models.vision import cells
from veriscene.models.vision.backbone import BACKBONES, fill, read_weights, save_weights
from veriscene.models.vision.eyes import Eyes
from veriscene.output import clock
from veriscene.training.interruption import interruptible
from veriscene.training.optimization import EMA
from veriscene.world.scene import BOXES_PER_SCENE

RENDERED_BACKBONE = "resnet50-rendered"
NAMES = ("eyes", RENDERED_BACKBONE)
WARMUP_STEPS = 200
WEIGHT_DECAY = 0.02
EMA_DECAY = 0.998
CLIP_NORM = 1.0
HELD_OUT_BATCH = 64  # scenes
HELD_OUT_SEED = 0x5EE  # of scenes that no seed of training draws: those have a pair (seed, worker)
SECONDS_BETWEEN_LINES, SECONDS_BETWEEN_SAVES = 10.0, 60.0


@dataclass(frozen=True)
class Settings:
    """How long (until `seconds` or `steps` are over, whichever comes first), and how."""

    seconds: float = math.inf
    steps: int = 1_000_000_000
    scenes: int = 384  # per step, three boxes each
    seed: int = 0
    workers: int = 0
    held_out: int = 512  # scenes that are judged for each progress line


@dataclass(frozen=True)
class Task:
    """A network to pretrain."""

    scenes: int  # per step, by default
    learning_rate: float  # the highest
    network: nn.Module  # the pixels of `draw`, stacked -> (box, channel, GRID, GRID)
    draw: Draw
    save: Callable[[Path], None]
    held_out: Mapping[str, Draw]  # pixels on which the share of exact boxes is measured, by name
    loss: Callable[[Tensor, Tensor], Tensor] = cells.loss  # of outputs and targets
    exact: Callable[[Tensor, Tensor], Tensor] = cells.exact  # (box,): whether everything is right


@dataclass(frozen=True)
class Outcome:
    steps: int
    interrupted: bool


def eyes_task() -> Task:
    eyes = Eyes()
    held_out = {"clean": rendered.clean_picture, "distorted": rendered.tested_picture}
    return Task(384, 2e-3, eyes, rendered.distorted_picture, eyes.save, held_out)


def backbone_task(initial: Path | None = None) -> Task:
    backbone = BACKBONES[RENDERED_BACKBONE]()
    if initial is not None:
        try:
            fill(backbone, read_weights(initial))
        except InputError as error:
            raise error if error.where else error.at(initial) from None
    network = DescribingBackbone(backbone)

    def save(path: Path) -> None:
        save_weights(backbone, path, metadata={"trained": "veriscene pretrain " + RENDERED_BACKBONE})

    return Task(
        192, 1e-3, network, rendered.clean_boxes, save, {"clean": rendered.clean_boxes}, network.loss, network.exact
    )


def make_task(name: str, initial: Path | None = None) -> Task:
    """The task of that name, with the weights in `initial` or with fresh ones from torch's global generator."""
    if name not in NAMES:
        raise InputError(f"cannot pretrain {name!r:.60}", allowed=f"choose from {', '.join(NAMES)}")
    if name != "eyes":
        return backbone_task(initial)
    if initial is not None:  # their file has no batch normalisation any more
        raise InputError("eyes cannot be trained further", where=initial, allowed="train new ones, for longer")
    return eyes_task()


def learning_rate_share(step: int, done: float) -> float:
    """Of the highest rate: linear warm-up in steps, times a cosine to zero in the share of the schedule done."""
    return min(1.0, (step + 1) / WARMUP_STEPS) * 0.5 * (1 + math.cos(math.pi * min(done, 1.0)))


class Pretrainer:
    """Trains until the end of the schedule or Ctrl-C; writes the averaged weights to `out` then and every minute,
    but never weights without any training."""

    def __init__(
        self, task: Task, out: Path, settings: Settings, *, device: torch.device, say: Callable[[str], None]
    ) -> None:
        self.task, self.out, self.settings, self.device, self.say = task, out, settings, device, say
        self.network = task.network.to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.optimizer = torch.optim.AdamW(self.network.parameters(), weight_decay=WEIGHT_DECAY)
        self.ema = EMA(self.network, decay=EMA_DECAY)
        rngs = (random.Random(HELD_OUT_SEED), np.random.default_rng(HELD_OUT_SEED))
        self.held_out = {name: rendered.sample(draw, settings.held_out, *rngs) for name, draw in task.held_out.items()}

    def run(self) -> Outcome:
        settings = self.settings
        step, done, losses = 0, 0.0, torch.zeros((), device=self.device)
        # Batches have one size, so that searching for the fastest convolutions pays.
        with interruptible() as interrupted, torch.backends.cudnn.flags(enabled=True, benchmark=True):
            stream = iter(rendered.loader(Rendered(self.task.draw, settings.scenes, settings.seed), settings.workers))
            batch = self._move(next(stream))  # before the clock starts: workers take a while to fill their queues
            start = last_line = last_save = time.monotonic()
            line_step = 0
            while done < 1 and not interrupted.is_set():
                losses += self._step(batch, self.task.learning_rate * learning_rate_share(step, done))
                self.ema.update(step)
                step += 1
                batch = self._move(next(stream))
                now = time.monotonic()
                done = max((now - start) / settings.seconds, step / settings.steps)
                if now - last_line > SECONDS_BETWEEN_LINES or done >= 1:
                    steps, seconds = step - line_step, now - last_line
                    self.say(
                        f"step {step:>6}  loss {float(losses) / steps:.4f}  exact boxes: {self._describe_exact()}"
                        f"  {BOXES_PER_SCENE * settings.scenes * steps / seconds:,.0f} boxes/s"
                        f"  {clock((now - start) * max(1 / done - 1, 0))} left"
                    )
                    losses.zero_()
                    last_line, line_step = time.monotonic(), step
                if now - last_save > SECONDS_BETWEEN_SAVES:
                    self._save()
                    last_save = now
        if step:
            self._save()
        return Outcome(step, interrupted.is_set())

    def _step(self, batch: Sample, learning_rate: float) -> Tensor:
        """One update; the loss before it, still on the device."""
        pixels, classes = batch
        self.optimizer.param_groups[0]["lr"] = learning_rate
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            outputs = self.network.train()(pixels)
        loss = self.task.loss(outputs, classes)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.network.parameters(), CLIP_NORM)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    def exact(self) -> dict[str, float]:
        """The share of held-out boxes of which everything is right, by the averaged weights."""
        with self._averaged(), torch.inference_mode():
            return {name: float(self._exact(held).float().mean()) for name, held in self.held_out.items()}

    def _exact(self, held: Sample) -> Tensor:
        pixels, classes = held
        outputs = torch.cat([self.network(some.to(self.device)) for some in torch.split(pixels, HELD_OUT_BATCH)])
        return self.task.exact(outputs, classes.to(self.device))

    def _describe_exact(self) -> str:
        return "  ".join(f"{name} {share:.2%}" for name, share in self.exact().items())

    def _move(self, batch: Sample) -> Sample:
        pixels, classes = batch
        return pixels.to(self.device, non_blocking=True), classes.to(self.device, non_blocking=True)

    def _save(self) -> None:
        with self._averaged():
            self.task.save(self.out)

    @contextmanager
    def _averaged(self) -> Iterator[None]:
        """Inside, the network has the averaged weights and is in inference mode."""
        with self.ema.applied():
            self.network.eval()
            yield
