"""A run is a folder: run.json (how it was started), corpus/ (where none was named), best/, last/, log.jsonl."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from accelerate import Accelerator
from accelerate.utils import broadcast_object_list

from veriscene import files, models
from veriscene.config import Config, from_json
from veriscene.corpora import synthetic as embedded
from veriscene.errors import InputError
from veriscene.scenes import nlvr
from veriscene.training import checkpoint as checkpoints
from veriscene.training import processes
from veriscene.training.checkpoint import BEST
from veriscene.training.fitted import FittedTrainer
from veriscene.training.materials import Materials
from veriscene.training.progress import read_log
from veriscene.training.trainer import LAST, Trainer

RUN = "run.json"
SEEDS = "seeds.json"  # of a folder of several runs
CORPUS = "corpus"
Progress = Callable[[int, int], None]
AnyTrainer = Trainer | FittedTrainer


def start(
    config: Config,
    *,
    preset: str,
    data: Path | None,
    folder: Path | None,
    accelerator: Accelerator,
    progress: Progress = lambda done, total: None,
    quiet: bool = False,
) -> AnyTrainer:
    """A trainer in a new run folder, on the corpus in `data` or on one that the package makes itself.

    It holds the folder until its `fit` ends.
    """
    # Nothing may be left behind by settings that do not go together, or by a corpus that cannot be read.
    models.check(config.model)
    folder = agreed(folder or fresh_name(preset, f"seed{config.training.seed}"), accelerator)
    check_new(folder, accelerator)
    trainer = None if data is None else _trainer(config, folder, data, accelerator, quiet)
    with created(folder, accelerator, fill=[CORPUS, RUN]) as held:
        processes.by_the_first(accelerator, lambda: _fill(folder, config, preset, data, progress))
        trainer = trainer or _trainer(config, folder, data, accelerator, quiet)
        trainer.held = held.pop_all()
    return trainer


def rehearse(config: Config, *, data: Path, accelerator: Accelerator) -> AnyTrainer:
    """A trainer without a folder. InputError if the settings or the corpus are not fit for training."""
    return _trainer(config, data, data, accelerator, quiet=True)


def resume(folder: Path, *, accelerator: Accelerator, quiet: bool = False) -> AnyTrainer:
    """The trainer of an earlier run, exactly where it stood. It holds the folder until its `fit` ends."""
    config, data = _read(folder)
    with alone(folder, accelerator) as held:
        trainer = _trainer(config, folder, data, accelerator, quiet)
        if isinstance(trainer, Trainer):
            if (last := checkpoints.present(folder / LAST)) is not None:
                trainer.resume(last)
            elif _reached_its_end(trainer):
                trainer.position = replace(trainer.position, finished=True)
            # Else the run ended before it first saved, and starts again.
        trainer.held = held.pop_all()
    return trainer


def _reached_its_end(trainer: Trainer) -> bool:
    """By its log and best weights: who threw its state away to save space does not want it trained anew."""
    log, training = read_log(trainer.run), trainer.config.training
    if not log or checkpoints.present(trainer.run / BEST) is None:
        return False
    accuracies = [line["dev_accuracy"] for line in log]
    scores_since_best = len(log) - 1 - accuracies.index(max(accuracies))
    return (
        log[-1]["step"] == trainer.total_steps
        or scores_since_best >= training.patience
        or 0 < 60 * training.minutes <= log[-1].get("seconds", 0)
    )


def scored_split(folder: Path) -> tuple[str, Path]:
    """The split on which a run may be shown to a person, and its file: (name, path).

    Of the embedded corpus that is its test split. Of a real corpus it is dev: test is for final figures alone.
    """
    _, data = _read(folder)
    split = "test" if data is None else "dev"
    return split, nlvr.split_file(corpus_of(folder), split)


def corpus_of(folder: Path) -> Path:
    """The corpus folder that a run learns from."""
    _, data = _read(folder)
    return folder / CORPUS if data is None else data


def _trainer(config: Config, folder: Path, data: Path | None, accelerator: Accelerator, quiet: bool) -> AnyTrainer:
    corpus = folder / CORPUS if data is None else data
    kind = FittedTrainer if models.is_fitted(config.model) else Trainer
    materials = Materials.of(
        config,
        train=nlvr.read(nlvr.split_file(corpus, "train")),
        dev=nlvr.read(nlvr.split_file(corpus, "dev")),
        supervision="synthetic" if data is None else "labels",
    )
    return kind(config, folder, materials, accelerator=accelerator, quiet=quiet)


def _read(folder: Path) -> tuple[Config, Path | None]:
    if not (folder / RUN).is_file():
        raise InputError(f"{folder}: not a run of `veriscene train`, {RUN} is missing")
    try:
        record = json.loads(files.read_text(folder / RUN))
        data = record["data"]
        config = from_json(record["config"], where=str(folder / RUN))
        if data is not None:
            data = Path(data)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(f"{folder / RUN}: damaged; start a new run") from None
    return config, data


def _fill(folder: Path, config: Config, preset: str, data: Path | None, progress: Progress) -> None:
    if data is None:
        settings = config.data
        made = embedded.build(settings.statements, seed=settings.corpus_seed, level=settings.level, progress=progress)
        embedded.write(folder / CORPUS, made)
    record = {"preset": preset, "data": None if data is None else str(data.resolve()), "config": config.to_json()}
    files.write_text(folder / RUN, json.dumps(record, indent=1) + "\n")


@contextmanager
def alone(folder: Path, accelerator: Accelerator) -> Iterator[ExitStack]:
    """The folder held for all processes by the first one; for longer by whoever takes over the stack that holds it."""
    with ExitStack() as held:
        processes.by_the_first(accelerator, lambda: held.enter_context(files.locked(folder)))
        yield held


def check_new(folder: Path, accelerator: Accelerator) -> None:
    """InputError if `created` would refuse what is there: before a corpus is read."""
    processes.by_the_first(accelerator, lambda: files.check_empty(folder, hint=_hint(folder)))


@contextmanager
def created(folder: Path, accelerator: Accelerator, *, fill: Collection[str]) -> Iterator[ExitStack]:
    """A new, empty folder for a run, held as by `alone`; what is there already is never touched."""
    with ExitStack() as making:
        new = files.created(folder, fill=fill, hint=_hint(folder))
        held = processes.by_the_first(accelerator, lambda: making.enter_context(new))
        yield held or ExitStack()


def _hint(folder: Path) -> str:
    is_ours = any((folder / name).exists() for name in (RUN, SEEDS, BEST))
    return f"{f'go on with: {resume_command(folder)}; or ' if is_ours else ''}name another folder with --out"


def resume_command(folder: Path) -> str:
    """What a person types to go on, whatever the folder's name holds."""
    return f"veriscene train --resume {shlex.quote(str(folder))}"


def fresh_name(preset: str, what: str) -> Path:
    return Path("runs") / f"{preset}-{what}-{time.strftime('%Y%m%d-%H%M%S')}"


def agreed(folder: Path, accelerator: Accelerator) -> Path:
    """The first process's choice: clocks of several processes may differ."""
    if accelerator.num_processes == 1:
        return folder
    names = [str(folder)]
    broadcast_object_list(names)
    return Path(names[0])
