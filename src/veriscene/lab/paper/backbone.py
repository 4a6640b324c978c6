"""The rendered backbone, which some rows need and this machine can make."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import torch
from accelerate import Accelerator

from veriscene import files
from veriscene.errors import InputError
from veriscene.lab.pretrain import RENDERED_BACKBONE, Pretrainer, Settings, make_task
from veriscene.models.vision.backbone import weights_path

NAME = RENDERED_BACKBONE
SECONDS = 600.0  # as `veriscene pretrain` takes by default


def can_be_made(reason: InputError, accelerator: Accelerator) -> bool:
    """Whether what a row lacks is this backbone, and it can be trained here: on a GPU, by a single process."""
    is_this = str(reason.where) == str(weights_path(NAME))
    return is_this and accelerator.device.type == "cuda" and accelerator.num_processes == 1


def make(folder: Path, accelerator: Accelerator, say: Callable[[str], None]) -> bool:
    """Trains the backbone as `veriscene pretrain` does; False if it was interrupted, which leaves no weights behind:
    models would take half-trained ones for the real ones."""
    torch.manual_seed(0)
    task, partial = make_task(NAME), folder / f"{NAME}.safetensors"
    settings = Settings(seconds=SECONDS, scenes=task.scenes, workers=len(os.sched_getaffinity(0)))
    try:
        if Pretrainer(task, partial, settings, device=accelerator.device, say=say).run().interrupted:
            return False
        files.write_bytes(weights_path(NAME), partial.read_bytes())
        return True
    finally:
        partial.unlink(missing_ok=True)
