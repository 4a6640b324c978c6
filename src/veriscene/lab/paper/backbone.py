"""The rendered backbone, which some rows need and this machine can make."""

from __future__ import annotations

import os
from pathlib import Path

import torch

from veriscene import files
from veriscene.errors import InputError
from veriscene.lab.pretrain import RENDERED_BACKBONE, Pretrainer, Settings, make_task
from veriscene.models.vision.backbone import weights_path
from veriscene.training.distributed import Machine

NAME = RENDERED_BACKBONE
SECONDS = 600.0  # as `veriscene pretrain` takes by default


def can_be_made(reason: InputError, machine: Machine) -> bool:
    """Whether what a row lacks is this backbone, and it can be trained here: on a GPU, by a single process."""
    is_this = str(reason.where) == str(weights_path(NAME))
    return is_this and machine.has_gpu and machine.processes == 1


def make(folder: Path, machine: Machine) -> bool:
    """Trains the backbone as `veriscene pretrain` does; False if it was interrupted, which leaves no weights behind:
    models would take half-trained ones for the real ones."""
    torch.manual_seed(0)
    task, partial = make_task(NAME), folder / f"{NAME}.safetensors"
    settings = Settings(seconds=SECONDS, scenes=task.scenes, workers=len(os.sched_getaffinity(0)))
    try:
        if Pretrainer(task, partial, settings, device=machine.device, say=machine.output.say).run().interrupted:
            return False
        files.write_bytes(weights_path(NAME), partial.read_bytes())
        return True
    finally:
        partial.unlink(missing_ok=True)
