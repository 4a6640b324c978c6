"""All that is needed to resume exactly: a checkpoint of the last weights, and the trainer's own state next to it."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from veriscene import files
from veriscene.config import TrainingConfig, flag, number, read
from veriscene.errors import InputError, first_line
from veriscene.judge import checkpoint as checkpoints
from veriscene.judge.checkpoint import Checkpoint
from veriscene.output import counted
from veriscene.training.distributed import Machine
from veriscene.training.optimization import EMA, make_optimizer

STATE = "trainer.pt"
MOST = 10**18  # of anything that a run counts; above it, a saved position is damaged


@dataclass
class Position:
    """Says how far a run is."""

    step: int = number(0, 0, MOST)
    best_accuracy: float = number(-1.0, -1.0, 1.0)  # below zero: there is no dev score yet
    best_step: int = number(0, 0, MOST)
    scores_since_best: int = number(0, 0, MOST)
    seconds: float = number(0.0, 0.0, MOST)
    loss_sum: float = number(0.0, 0.0, MOST)  # since the last dev score
    loss_count: int = number(0, 0, MOST)
    training_seconds: float = number(0.0, 0.0, MOST)  # since the last dev score, without scoring and saving
    finished: bool = flag(False)

    def check(self, total_steps: int) -> None:
        """Raises ValueError for a position that no run of so many steps can have."""
        last = min(self.step, total_steps)
        if self.step > last or max(self.best_step, self.loss_count) > last or (self.best_accuracy < 0 < self.best_step):
            raise ValueError(f"step {self.step} of {total_steps} with the best at {self.best_step}")


class TrainingState:
    """Holds what changes in training: weights, their average, the optimizer's moments, random states, position."""

    def __init__(self, checkpoint: Checkpoint, settings: TrainingConfig, machine: Machine, data: int) -> None:
        """`data` is the fingerprint of what is trained on."""
        self.checkpoint, self.machine, self.data = checkpoint, machine, data
        self.captured = machine.has_gpu
        self.optimizer = make_optimizer(checkpoint.model, settings, captured=self.captured)
        self.ema = EMA(checkpoint.model, decay=settings.ema) if settings.ema else None
        self.position = Position()

    def save(self, folder: Path) -> None:
        """Writes the folder completely or not at all."""
        cuda = torch.cuda.get_rng_state(self.machine.device) if self.captured else None
        mine = {"cpu": torch.get_rng_state(), "cuda": cuda, "loss_sum": self.position.loss_sum}
        state = {
            "data": self.data,
            "position": asdict(self.position),
            "moments": self.optimizer.state_dict()["state"],  # its settings are the configuration's
            "ema": self.ema.weights if self.ema else [],
            "processes": self.machine.gather([mine]),
        }

        def save_state(partial: Path) -> None:
            with (partial / STATE).open("wb") as file:  # with a path, torch reports a full disk as a failed assertion
                torch.save(state, file)

        self.machine.on_main(lambda: checkpoints.save(folder, self.checkpoint, also=save_state))

    def restore(self, folder: Path, *, total_steps: int) -> None:
        """Raises InputError, and changes nothing that matters, if the saved state is damaged or of another run."""
        saved, path = checkpoints.load(folder), folder / STATE
        try:
            state: dict[str, Any] = files.load_torch(path)
            data, moments, ema, processes = (state[key] for key in ("data", "moments", "ema", "processes"))
            tree = {field.name: state["position"][field.name] for field in fields(Position)}
        except Exception as error:  # unpickling has no common class of errors
            raise InputError(f"damaged ({type(error).__name__}); it cannot be resumed", where=path) from None
        if type(data) is not int or data != self.data or saved.encoder != self.checkpoint.encoder:
            allowed = "resume with the corpus and the programs it was started on"
            raise InputError("its data has changed since", where=folder.parent, allowed=allowed)
        if not isinstance(processes, list) or len(processes) != self.machine.processes:
            is_known = isinstance(processes, list)
            count = counted(len(processes), "process", "processes") if is_known else "another number of processes"
            raise InputError(f"was trained by {count}; resume with as many", where=folder.parent)
        try:
            mine = processes[self.machine.rank]
            position = read(Position, {**tree, "loss_sum": mine["loss_sum"]}, where="position", prefix="")
            position.check(total_steps)
            _check_moments(moments, self.optimizer, position.step)
            self.checkpoint.model.load_state_dict(saved.model.state_dict())
            groups = self.optimizer.state_dict()["param_groups"]
            self.optimizer.load_state_dict({"state": moments, "param_groups": groups})
            for own, average in zip(self.ema.weights if self.ema else [], ema, strict=True):
                _check_fits(average, own, "the averaged weights")
                own.copy_(average)
            torch.set_rng_state(mine["cpu"])
            if self.captured and mine["cuda"] is not None:
                torch.cuda.set_rng_state(mine["cuda"], self.machine.device)
        except (InputError, ValueError, TypeError, LookupError, ArithmeticError, RuntimeError, AttributeError) as error:
            raise InputError(f"damaged ({first_line(error)}); it cannot be resumed", where=path) from None
        self.position = position


def save_progress(
    path: Path, network: nn.Module, optimizer: Optimizer, ema: EMA, *, settings: Mapping[str, object], **position: float
) -> None:
    """Writes, completely or not at all, what `restore_progress` needs to continue from this position."""
    stream = io.BytesIO()
    state = {"network": network.state_dict(), "optimizer": optimizer.state_dict(), "ema": ema.weights}
    torch.save({**state, "settings": json.dumps(settings, sort_keys=True), "position": position}, stream)
    files.write_bytes(path, stream.getvalue())


def restore_progress(
    path: Path, network: nn.Module, optimizer: Optimizer, ema: EMA, *, settings: Mapping[str, object]
) -> dict[str, float]:
    """Returns the position; raises InputError if what was saved is absent, damaged or of other settings."""
    if not path.exists():
        raise InputError("there is nothing to resume", where=path, allowed="leave out --resume")
    try:
        state = files.load_torch(path, device=str(next(network.parameters()).device))
        position: dict[str, float] = state["position"]
        is_same = state["settings"] == json.dumps(settings, sort_keys=True)
        if is_same:
            network.load_state_dict(state["network"])
            optimizer.load_state_dict(state["optimizer"])
            ema.weights = state["ema"]
    except Exception as error:  # unpickling has no common class of errors
        raise InputError(f"damaged ({type(error).__name__}); it cannot be resumed", where=path) from None
    if not is_same:
        raise InputError("was made with other settings", where=path, allowed="give the same options")
    return position


def _check_moments(moments: object, optimizer: torch.optim.Optimizer, step: int) -> None:
    """Raises ValueError unless there is a state for each parameter, of its shape, as soon as a step was made."""
    groups = [(p, group.get("orthogonal", False)) for group in optimizer.param_groups for p in group["params"]]
    parameters = {index: each for index, each in enumerate(groups) if each[0].requires_grad}
    if not isinstance(moments, dict) or set(moments) != (set(parameters) if step else set()):
        raise ValueError("the optimizer's moments are not those of this model")
    for index, state in moments.items():
        parameter, is_orthogonal = parameters[index]
        for name in ("exp_avg",) if is_orthogonal else ("exp_avg", "exp_avg_sq"):
            _check_fits(state[name], parameter, f"the moments of parameter {index}")
        if int(state["step"]) != step:
            raise ValueError(f"the optimizer is at step {int(state['step'])}, the run at step {step}")


def _check_fits(saved: object, own: Tensor, what: str) -> None:
    if not isinstance(saved, Tensor) or saved.shape != own.shape or not bool(saved.isfinite().all()):
        raise ValueError(f"{what} have another shape or are not finite")
