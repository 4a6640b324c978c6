"""All that is needed to go on exactly: a checkpoint of the last weights, with the trainer's own state beside it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from torch import Tensor

from veriscene.errors import InputError
from veriscene.training import checkpoint as checkpoints
from veriscene.training.checkpoint import Checkpoint

STATE = "trainer.pt"


@dataclass(frozen=True)
class Position:
    """Where a run stands."""

    step: int = 0
    best_accuracy: float = -1.0
    best_step: int = 0
    scores_since_best: int = 0
    seconds: float = 0.0
    loss_sum: float = 0.0  # since the last dev score
    loss_count: int = 0
    training_seconds: float = 0.0  # since the last dev score, scoring and saving left out
    finished: bool = False


@dataclass(frozen=True)
class Outcome:
    position: Position
    interrupted: bool
    steps_planned: int


def save(
    folder: Path,
    checkpoint: Checkpoint,
    data: int,
    position: Position,
    optimizer: torch.optim.Optimizer,
    average: list[Tensor],
    accelerator: Accelerator,
) -> None:
    generators = [{"cpu": torch.get_rng_state(), "cuda": torch.cuda.get_rng_state_all()}]
    if accelerator.num_processes > 1:
        generators = gather_object(generators)
    if accelerator.is_main_process:
        # The optimiser's settings are the configuration's, so only its moments are kept.
        moments = optimizer.state_dict()["state"]
        state = {
            "data": data,
            "position": asdict(position),
            "moments": moments,
            "average": average,
            "generators": generators,
        }
        checkpoints.save(folder, checkpoint, also=lambda partial: torch.save(state, partial / STATE))


def restore(
    folder: Path,
    checkpoint: Checkpoint,
    data: int,
    optimizer: torch.optim.Optimizer,
    average: list[Tensor],
    accelerator: Accelerator,
) -> Position:
    """Puts weights, their average, moments and generators back into what it is given; gives the position."""
    saved = checkpoints.load(folder)
    try:
        state: dict[str, Any] = torch.load(folder / STATE, map_location="cpu", weights_only=True)
        position = Position(**state["position"])
        generators = state["generators"]
        is_same_data = state["data"] == data and saved.vocabulary == checkpoint.vocabulary
    except Exception as error:
        raise InputError(f"{folder / STATE}: damaged ({type(error).__name__}); it cannot be resumed") from None
    if not is_same_data:
        raise InputError(f"{folder.parent}: its data has changed since; resume with the corpus it was started on")
    try:
        checkpoint.model.load_state_dict(saved.model.state_dict())
        groups = optimizer.state_dict()["param_groups"]
        optimizer.load_state_dict({"state": state["moments"], "param_groups": groups})
        for weight, kept in zip(average, state.get("average", []), strict=True):
            weight.copy_(kept)
    except Exception as error:
        raise InputError(f"{folder / STATE}: damaged ({type(error).__name__}); it cannot be resumed") from None
    if len(generators) != accelerator.num_processes:
        raise InputError(f"{folder.parent}: was trained by {len(generators)} processes; resume with as many")
    mine = generators[accelerator.process_index]
    torch.set_rng_state(mine["cpu"])
    if torch.cuda.is_available() and mine["cuda"]:
        torch.cuda.set_rng_state_all(mine["cuda"])
    return position
