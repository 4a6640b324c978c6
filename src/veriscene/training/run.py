"""A run is a folder: run.json (how it was started), corpus/ (where none was given), best/, last/, log.jsonl.

`start` and `resume` are context managers: they lock the folder, and release it at the end.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path

from accelerate import Accelerator

from veriscene import files, models
from veriscene.config import Config
from veriscene.data import corpora
from veriscene.data.source import CorpusSource, Source
from veriscene.data.teacher.source import TeacherSource
from veriscene.judge.checkpoint import BEST, SEEDS, Checkpoint
from veriscene.models.base import Progress, silent
from veriscene.training.base import Trainer
from veriscene.training.distributed import from_main_process, on_main_process
from veriscene.training.fitted import FittedTrainer
from veriscene.training.initial import load_initial, supervision_of_both
from veriscene.training.progress import LOG, TENSORBOARD
from veriscene.training.run_record import RUN, new_record, read_record, write_record
from veriscene.training.trainer import StepTrainer
from veriscene.worlds.nlvr import corpus as nlvr
from veriscene.worlds.nlvr import synthetic

CORPUS = "corpus"


@contextmanager
def start(
    config: Config,
    *,
    preset: str,
    data: Path | None,
    folder: Path | None,
    accelerator: Accelerator,
    programs: Sequence[Path] = (),
    initial: str | Path | None = None,
    progress: Progress = silent,
    quiet: bool = False,
) -> Iterator[Trainer]:
    """A trainer in a new run folder, on the corpus in `data` or on a synthetic one, or on what a teacher makes.

    `initial`: a model whose vocabulary and weights it starts from.

    On failure before anything was saved, removes what it created, so the command can be repeated.
    """
    # Settings that do not fit together, or a corpus that cannot be read, must leave nothing behind.
    models.check(config.model)
    folder = Path(from_main_process(accelerator, str(folder or fresh_name(preset, f"seed{config.training.seed}"))))
    check_new(folder, accelerator)
    open_on = partial(
        _open,
        config,
        folder,
        programs=programs,
        initial=initial,
        accelerator=accelerator,
        progress=progress,
        quiet=quiet,
    )
    trainer = None if data is None else open_on(data)
    with created(folder, accelerator, fill=[CORPUS, RUN, LOG, TENSORBOARD]):
        if trainer is None:
            on_main_process(accelerator, lambda: _make_corpus(folder, config, progress))
            trainer = open_on(folder / CORPUS)
        record = new_record(config, preset, data, programs, initial, trainer.source.supervision, accelerator)
        on_main_process(accelerator, lambda: write_record(folder, record))
        with closing(trainer.source):
            yield trainer


@contextmanager
def resume(
    folder: Path, *, accelerator: Accelerator, progress: Progress = silent, quiet: bool = False
) -> Iterator[Trainer]:
    """The trainer of an earlier run, exactly where it stopped."""
    record = read_record(folder)
    with locked(folder, accelerator):
        trainer = _open(
            record.config,
            folder,
            corpus_of(folder),
            programs=record.programs,
            initial=record.initial,
            accelerator=accelerator,
            progress=progress,
            quiet=quiet,
        )
        with closing(trainer.source):
            trainer.resume()
            yield trainer


def check_trainable(
    config: Config,
    data: Path,
    *,
    programs: Sequence[Path],
    initial: str | Path | None,
    accelerator: Accelerator,
    progress: Progress = silent,
) -> None:
    """Raises InputError if `start` would."""
    trainer = _open(
        config,
        Path(),  # no trainer writes before it trains
        data,
        programs=programs,
        initial=initial,
        accelerator=accelerator,
        progress=progress,
        quiet=True,
    )
    trainer.source.close()


def _open(
    config: Config,
    folder: Path,
    corpus: Path,
    *,
    programs: Sequence[Path],
    initial: str | Path | None,
    accelerator: Accelerator,
    progress: Progress = silent,
    quiet: bool,
) -> Trainer:
    start = load_initial(initial, config.model)
    source = open_source(config, corpus, programs, start, progress)
    return make_trainer(config, folder, source, accelerator, initial=start, quiet=quiet)


def open_source(
    config: Config,
    corpus: Path,
    programs: Sequence[Path],
    initial: Checkpoint | None = None,
    progress: Progress = silent,
) -> Source:
    """A teacher, if it has statements to teach; otherwise the corpus."""
    vocabulary = None if initial is None else initial.encoder.vocabulary
    source: Source
    if programs or config.teacher.statements:
        source = TeacherSource.open(config, corpus, programs, progress, vocabulary=vocabulary)
    else:
        source = CorpusSource.open(config, corpus, progress, vocabulary=vocabulary)
    source.supervision = supervision_of_both(source.supervision, initial)
    return source


def data_digest(corpus: Path | None, programs: Sequence[Path]) -> str | None:
    """Changes with the files that `open_source` reads, except for pictures; None if there are none."""
    splits = [] if corpus is None else [nlvr.split_file(corpus, split) for split in ("train", "dev")]
    paths = [*splits, *programs]
    return files.digest(paths) if paths else None


def make_trainer(
    config: Config,
    folder: Path,
    source: Source,
    accelerator: Accelerator,
    *,
    initial: Checkpoint | None = None,
    quiet: bool = False,
) -> Trainer:
    """InputError if such a model cannot be trained on the source; touches no file of `folder`."""
    if models.MODELS[config.model.name].is_fitted:
        return FittedTrainer(config, folder, source, accelerator=accelerator, quiet=quiet)
    return StepTrainer(config, folder, source, accelerator=accelerator, initial=initial, quiet=quiet)


def _make_corpus(folder: Path, config: Config, progress: Progress) -> None:
    data = config.data
    made = synthetic.build(data.statements, seed=data.corpus_seed, level=data.level, progress=progress)
    synthetic.write(folder / CORPUS, made)


def corpus_of(folder: Path) -> Path:
    """The corpus folder that a run is trained on."""
    return read_record(folder).data or folder / CORPUS


def scored_split(folder: Path) -> tuple[str, Path]:
    """The split on which a run may be shown, and its file: test for a synthetic corpus, dev for a real one.

    The test split of a real corpus is for final figures only.
    """
    corpus = corpus_of(folder)
    split = "test" if corpora.supervision(corpus) == "synthetic" else "dev"
    return split, nlvr.split_file(corpus, split)


@contextmanager
def locked(folder: Path, accelerator: Accelerator) -> Iterator[None]:
    """The folder locked by rank 0 on behalf of all processes."""
    with ExitStack() as lock:
        on_main_process(accelerator, lambda: lock.enter_context(files.locked(folder)))
        yield


def check_new(folder: Path, accelerator: Accelerator) -> None:
    """Raises InputError if `created` would refuse the folder, before a corpus is read."""
    on_main_process(accelerator, lambda: files.check_empty(folder, hint=_hint(folder)))


@contextmanager
def created(folder: Path, accelerator: Accelerator, *, fill: Collection[str]) -> Iterator[None]:
    """A new folder, locked by rank 0. On failure removes the names in `fill`, unless there is more (a checkpoint)."""
    with ExitStack() as stack:
        new = files.created(folder, fill=fill, hint=_hint(folder))
        on_main_process(accelerator, lambda: stack.enter_context(new))
        yield


def _hint(folder: Path) -> str:
    is_ours = any((folder / name).exists() for name in (RUN, SEEDS, BEST))
    return f"{f'continue with: {resume_command(folder)}; or ' if is_ours else ''}name another folder with --out"


def resume_command(folder: Path) -> str:
    """What to type to continue, whatever characters the folder's name contains."""
    return f"veriscene train --resume {shlex.quote(str(folder))}"


def fresh_name(preset: str, what: str) -> Path:
    return Path("runs") / f"{preset}-{what}-{time.strftime('%Y%m%d-%H%M%S')}"
