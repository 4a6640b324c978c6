"""Training of networks that see, on rendered scenes: what is where in each box.

`eyes` are trained on distorted pictures and used as they are. Of `resnet50-rendered`, the convolution that predicts
what is where is thrown away afterwards, and the backbone is what remains.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from veriscene.errors import InputError
from veriscene.models.vision import cells
from veriscene.models.vision.eyes import Eyes
from veriscene.training import rendered
from veriscene.training.interruption import interruptible
from veriscene.training.optimization import EMA
from veriscene.training.progress import clock
from veriscene.training.rendered import Draw, Rendered, Sample

RENDERED_BACKBONE = "resnet50-rendered"
NAMES = ("eyes", RENDERED_BACKBONE)
WARMUP_STEPS = 200
WEIGHT_DECAY = 0.02
EMA_DECAY = 0.998
CLIP_NORM = 1.0
HELD_OUT_SEED = 0x5EE  # of scenes that no seed of training draws: those have a pair (seed, worker)
SECONDS_BETWEEN_LINES, SECONDS_BETWEEN_SAVES = 10.0, 60.0


@dataclass(frozen=True)
class Settings:
    """How long (until `seconds` or `steps` are over, whichever comes first), and how."""

    seconds: float = math.inf
    steps: int = 1_000_000_000
    scenes: int = 384  # per step, three boxes each
    learning_rate: float = 2e-3
    seed: int = 0
    workers: int = 0
    held_out: int = 512  # scenes


@dataclass(frozen=True)
class Task:
    """A network to pretrain."""

    network: nn.Module  # the pixels of `draw`, stacked -> (box, CHANNELS, GRID, GRID)
    draw: Draw
    save: Callable[[Path], None]
    held_out: dict[str, Draw]  # what the share of exact boxes is measured on, by name


@dataclass(frozen=True)
class Outcome:
    steps: int
    interrupted: bool
    exact: dict[str, float] = field(default_factory=dict)  # share of exact boxes


class SeeingBackbone(nn.Module):
    """A backbone with a 1 x 1 convolution that predicts what is where."""

    def __init__(self, backbone: nn.Module, *, channels: int) -> None:
        super().__init__()
        self.backbone = backbone
        self.heads = nn.Conv2d(channels, cells.CHANNELS, 1)

    def forward(self, pixels: Tensor) -> Tensor:
        """(n, 3, 100, 100, RGB) uint8 -> (3 n, CHANNELS, GRID, GRID)."""
        heads: Tensor = self.heads(self.backbone(pixels.flatten(0, 1)))
        return heads


def eyes_task() -> Task:
    eyes = Eyes()
    held_out = {"clean": rendered.clean_picture, "distorted": rendered.tested_picture}
    return Task(eyes, rendered.distorted_picture, eyes.save, held_out)


def backbone_task() -> Task:
    from veriscene.models.vision.backbone import BACKBONES, save_weights

    backbone = BACKBONES[RENDERED_BACKBONE]()
    network = SeeingBackbone(backbone, channels=backbone.channels)

    def save(path: Path) -> None:
        save_weights(backbone, path, metadata={"trained": "veriscene pretrain " + RENDERED_BACKBONE})

    return Task(network, rendered.clean_boxes, save, {"clean": rendered.clean_boxes})


def make_task(name: str) -> Task:
    """The task of that name, with fresh weights from torch's global generator."""
    if name not in NAMES:
        raise InputError(f"cannot pretrain {name!r:.60}", allowed=f"choose from {', '.join(NAMES)}")
    return eyes_task() if name == "eyes" else backbone_task()


def pretrain(
    task: Task, out: Path, settings: Settings, *, device: torch.device, say: Callable[[str], None] = lambda line: None
) -> Outcome:
    """Trains until the end of the schedule or Ctrl-C; writes the averaged weights to `out` then and every minute."""
    network = task.network.to(device, memory_format=torch.channels_last).train()
    optimizer = torch.optim.AdamW(network.parameters(), lr=settings.learning_rate, weight_decay=WEIGHT_DECAY)
    ema = EMA(network, decay=EMA_DECAY)
    held_out = {name: _held_out(draw, settings.held_out) for name, draw in task.held_out.items()}
    stream = iter(rendered.loader(Rendered(task.draw, settings.scenes, settings.seed), workers=settings.workers))
    exact: dict[str, float] = {}
    with interruptible() as interrupted:
        batch = _next(stream, device)  # before the clock starts: workers take a while to fill their queues
        start = last_line = last_save = time.monotonic()
        step, losses, done = 0, torch.zeros((), device=device), 0.0
        lines_from = step
        while done < 1 and not interrupted.is_set():
            for group in optimizer.param_groups:
                group["lr"] = settings.learning_rate * _schedule(step, done)
            losses += _step(network, batch, optimizer)
            ema.update(step)
            step += 1
            batch = _next(stream, device)
            now = time.monotonic()
            done = max((now - start) / settings.seconds, step / settings.steps)
            if now - last_line > SECONDS_BETWEEN_LINES or done >= 1:
                with ema.applied():
                    exact = {name: _share_exact(network, held) for name, held in held_out.items()}
                boxes = 3 * settings.scenes * (step - lines_from) / (now - last_line)
                figures = "  ".join(f"{name} {share:.2%}" for name, share in exact.items())
                left = (now - start) * (1 / done - 1)
                loss = float(losses) / (step - lines_from)
                say(
                    f"step {step:>6}  loss {loss:.4f}  exact boxes: {figures}  {boxes:,.0f} boxes/s  {clock(left)} left"
                )
                losses.zero_()
                last_line, lines_from = time.monotonic(), step
            if now - last_save > SECONDS_BETWEEN_SAVES:
                _save(task, ema, out)
                last_save = now
    _save(task, ema, out)
    return Outcome(step, interrupted.is_set(), exact)
