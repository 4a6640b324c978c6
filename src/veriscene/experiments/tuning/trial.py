"""One trial, in a process of its own: it trains, and asks after each dev score whether to go on.

Only the command that started it touches the study, so trials at the same time need no lock between them.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator

from veriscene.config import Config, TrainingConfig
from veriscene.errors import InputError
from veriscene.training import run


@dataclass(frozen=True)
class Assignment:
    """All that a process needs to know."""

    config: Config
    preset: str
    data: Path
    folder: Path  # of the run
    log: Path  # takes whatever the process prints
    threads: int
    accelerator: Callable[[], Accelerator]


@dataclass(frozen=True)
class DevScore:
    """A question: the answer True ends the trial."""

    share: float  # of the trial that is over
    accuracy: float


@dataclass(frozen=True)
class Ended:
    accuracy: float | None = None  # the best on dev; None where it failed
    seconds: float | None = None
    is_pruned: bool = False
    interrupted: bool = False
    error: str = ""


def work(assignment: Assignment, connection: Connection) -> None:
    """The process: sends a DevScore for each dev score and waits for its answer; Ended comes last."""
    with assignment.log.open("ab") as log:
        for stream in (1, 2):
            os.dup2(log.fileno(), stream)
    try:
        ended = _train(assignment, connection)
    except (EOFError, BrokenPipeError):
        return  # The command has gone; the next one begins this trial anew.
    except InputError as error:
        ended = Ended(error=str(error))
    except Exception as error:  # out of memory, a full disk: this trial's misfortune, not the study's
        traceback.print_exc()
        ended = Ended(error=f"{type(error).__name__}: {error}".splitlines()[0])
    connection.send(ended)


def _train(assignment: Assignment, connection: Connection) -> Ended:
    torch.set_num_threads(assignment.threads)
    is_pruned = False
    trainer = run.start(
        assignment.config,
        preset=assignment.preset,
        data=assignment.data,
        folder=assignment.folder,
        accelerator=assignment.accelerator(),
    )

    def told_to_stop(line: dict[str, Any]) -> bool:
        nonlocal is_pruned
        connection.send(DevScore(share_gone(line, assignment.config.training), line["dev_accuracy"]))
        is_pruned = bool(connection.recv())
        return is_pruned

    outcome = trainer.fit(stop_after=told_to_stop)
    position = outcome.position
    return Ended(position.best_accuracy, position.seconds, is_pruned=is_pruned, interrupted=outcome.interrupted)


def share_gone(line: dict[str, Any], settings: TrainingConfig) -> float:
    """How much of the run is over at this line of its log, by epochs or by the clock, whichever ends it first."""
    by_clock = line["seconds"] / (60 * settings.minutes) if settings.minutes else 0.0
    return float(min(1.0, max(line["epoch"] / settings.epochs, by_clock)))
