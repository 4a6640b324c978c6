"""The protocol: one configuration, several seeds, each at its best on dev; reported as mean, spread and best.

A folder of seeds holds seeds.json (how it was started), a run for each seed with its verdicts, and summary.json.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from accelerate import Accelerator

from veriscene import files, models
from veriscene.config import Config
from veriscene.data.teacher.statements import check_files
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.judge import load
from veriscene.judge.checkpoint import SEEDS, SUMMARY
from veriscene.judge.evaluate import probabilities
from veriscene.metrics import accuracy as metrics
from veriscene.metrics.accuracy import Score, Summary
from veriscene.models.base import Progress, silent
from veriscene.training import run
from veriscene.training.distributed import any_process, on_main_process
from veriscene.training.run_record import RUN, absolute, read_record
from veriscene.worlds.nlvr import corpus as nlvr
from veriscene.worlds.nlvr.corpus import Example

MOST = 1_000  # more is a typing error

Say = Callable[[str], None]


@dataclass(frozen=True)
class Record:
    """What seeds.json says."""

    preset: str
    config: Config
    seeds: list[int]
    data: Path | None
    digest: str | None  # of the files that all seeds have in common: train, dev and programs; None if there are none
    programs: tuple[Path, ...] = ()  # of a teacher
    initial: str | None = None  # the model to start from; of a folder of seeds, that of the same seed

    def config_of(self, seed: int) -> Config:
        return replace(self.config, training=replace(self.config.training, seed=seed))

    def initial_of(self, seed: int) -> str | Path | None:
        own = Path(self.initial, f"seed{seed}") if self.initial else None
        return own if own and own.is_dir() else self.initial


# ---------------------------------------------------------------- seeds.json


def start(
    config: Config,
    *,
    preset: str,
    data: Path | None,
    folder: Path,
    count: int,
    accelerator: Accelerator,
    programs: Sequence[Path] = (),
    initial: str | Path | None = None,
    progress: Progress = silent,
) -> None:
    """Creates a folder for `count` seeds, starting with the configuration's own; not if they could not be trained."""
    check_count(count)
    seeds = list(range(config.training.seed, config.training.seed + count))
    record = Record(
        preset,
        config,
        seeds,
        data and data.resolve(),
        None,
        tuple(path.resolve() for path in programs),
        absolute(initial),
    )
    models.read_config(record.config_of(seeds[-1]).to_json(), where=f"--seeds {count}")  # raises InputError if invalid
    models.check(config.model)
    check_files(programs)
    run.check_new(folder, accelerator)
    if data is not None:
        first = record.initial_of(seeds[0])
        run.check_trainable(config, data, programs=programs, initial=first, accelerator=accelerator, progress=progress)
    record = replace(record, digest=run.data_digest(record.data, record.programs))
    with run.created(folder, accelerator, fill=[SEEDS]):
        on_main_process(accelerator, lambda: _write(folder, record))


def check_count(count: int) -> None:
    if not 1 <= count <= MOST:
        raise InputError(f"--seeds {count}", allowed=f"give a number from 1 to {MOST:,}")


def extend(folder: Path, count: int) -> None:
    """Adds seeds until there are `count`; those that are there stay as they are."""
    with files.locked(folder):
        record = read(folder)
        _check_unchanged(folder, record)
        if (missing := count - len(record.seeds)) > 0:
            following = max(record.seeds) + 1
            _write(folder, replace(record, seeds=[*record.seeds, *range(following, following + missing)]))


def check_same(folder: Path, data: Path, config: Config | None = None, programs: Sequence[Path] | None = None) -> None:
    """Raises InputError if the folder was started on another corpus, with another `config` or with other `programs`, or
    its corpus changed."""
    record, another = read(folder), "name another folder with --out"
    if config is not None and config != record.config:
        raise InputError("was started with other settings", where=folder, allowed=another)
    if programs is not None and [path.resolve() for path in programs] != list(record.programs):
        raise InputError("was started with other programs", where=folder, allowed=another)
    if record.data != data.resolve():
        raise InputError("was started on another corpus", where=folder, allowed=another)
    _check_unchanged(folder, record)


def is_folder_of_seeds(folder: Path) -> bool:
    return (folder / SEEDS).is_file()


def read(folder: Path) -> Record:
    path = folder / SEEDS
    try:
        record = json.loads(files.read_text(path))
        seeds = [int(seed) for seed in record["seeds"]]
        if not seeds:
            raise ValueError
        data = None if record["data"] is None else Path(record["data"])
        config = models.read_config(record["config"], where=str(path))
        programs = tuple(map(Path, record.get("programs", [])))
        initial = record.get("initial")
        return Record(str(record["preset"]), config, seeds, data, record["digest"], programs, initial)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError("damaged", where=path, allowed="start in another folder") from None


def _write(folder: Path, record: Record) -> None:
    data, programs = record.data and str(record.data), [str(path) for path in record.programs]
    tree = {**vars(record), "data": data, "programs": programs, "config": record.config.to_json()}
    files.write_text(folder / SEEDS, json.dumps(tree, indent=1) + "\n")


def _check_unchanged(folder: Path, record: Record) -> None:
    """A finished seed is not looked at again, so this is the only check that the next one sees the same examples."""
    if record.digest is not None and record.digest != run.data_digest(record.data, record.programs):
        allowed = f"continue with the {'corpus and the programs' if record.programs else 'corpus'} it was started on"
        raise InputError("its data has changed since", where=folder, allowed=allowed)


# ---------------------------------------------------------------- training and scoring


def left(folder: Path, count: int) -> int:
    """How many seeds remain to be trained until the folder has `count`, or as many as it was created for."""
    if not is_folder_of_seeds(folder):
        return count
    seeds = read(folder).seeds
    return max(count, len(seeds)) - sum(_is_done(folder / f"seed{seed}") for seed in seeds)


def is_summarised(folder: Path, count: int) -> bool:
    """Whether at least `count` seeds, and all that the folder was created for, are trained and summarised."""
    try:
        summarised = len(json.loads(files.read_text(folder / SUMMARY))["dev"]["scores"])
    except (InputError, ValueError, KeyError, TypeError):
        return False  # missing or damaged; it is written again, without training a seed again
    return summarised >= max(count, len(read(folder).seeds))


def train(
    folder: Path, *, accelerator: Accelerator, say: Say, progress: Progress = silent, quiet: bool = False
) -> Summary | None:
    """Trains the seeds that remain, and scores each on dev; None if it was interrupted. `progress`: of preparing a
    seed's examples."""
    with run.locked(folder, accelerator):
        record = read(folder)
        _check_unchanged(folder, record)
        try:
            for seed in record.seeds:
                if not _train_seed(folder / f"seed{seed}", seed, record, accelerator, say, progress, quiet):
                    return None
            summary = judge(folder, "dev", accelerator=accelerator)
        except KeyboardInterrupt:  # while no seed is trained, which would save first
            return None
        if accelerator.is_main_process:
            best = f"seed{summary.best.seed}"
            tree = {"best": best, "supervision": supervision(folder), "dev": summary.to_json()}
            files.write_text(folder / SUMMARY, json.dumps(tree, indent=1) + "\n")
        return summary


def _train_seed(
    own: Path, seed: int, record: Record, accelerator: Accelerator, say: Say, progress: Progress, quiet: bool
) -> bool:
    """Trains one seed to its end and scores it, unless that was done before; False if it was interrupted."""
    # Rank 0 decides: another rank may look later, and find what rank 0 has begun meanwhile.
    is_main = accelerator.is_main_process
    is_begun, is_done = any_process(accelerator, is_main and (own / RUN).exists(), is_main and _is_done(own))
    if is_done:
        return True
    _check_unchanged(own.parent, record)  # files may change while another seed is trained
    if is_begun:
        opened = run.resume(own, accelerator=accelerator, progress=progress, quiet=quiet)
    else:
        if is_main and own.is_dir() and {path.name for path in own.iterdir()} <= {run.CORPUS}:
            shutil.rmtree(own, ignore_errors=True)  # left by a crash before the run began
        config, data = record.config_of(seed), record.data
        opened = run.start(
            config,
            preset=record.preset,
            data=data,
            folder=own,
            accelerator=accelerator,
            programs=record.programs,
            initial=record.initial_of(seed),
            progress=progress,
            quiet=quiet,
        )
    asked_to_stop = False
    with opened as trainer:
        if not trainer.position.finished:
            say(f"{record.preset}, seed {seed} of {', '.join(map(str, record.seeds))}: run {own}")
            if is_main:  # verdicts of earlier weights would seem to belong to the new ones
                for split in ("dev", "test"):
                    (own / f"{split}.csv").unlink(missing_ok=True)
            accelerator.wait_for_everyone()
            outcome = trainer.fit()
            if trainer.source.remark and seed == record.seeds[0]:  # the same for all seeds
                say(trainer.source.remark)
            if outcome.interrupted:
                return False
            asked_to_stop = outcome.asked_to_stop
    _judge(own, "dev", accelerator)
    return not asked_to_stop


def judge(folder: Path, split: str, *, accelerator: Accelerator, examples: Sequence[Example] | None = None) -> Summary:
    """Every seed's scores on a split of its corpus. Verdicts are kept next to the weights and not computed again.

    `examples` are those of the split, if the caller has read them.
    """
    scored = ((seed, _judge(folder / f"seed{seed}", split, accelerator, examples)) for seed in read(folder).seeds)
    return Summary(tuple(Score(seed, of_it.accuracy, of_it.consistency) for seed, of_it in scored))


def supervision(folder: Path) -> str:
    """Of a folder whose first seed is trained, as its source reported it."""
    return read_record(folder / f"seed{read(folder).seeds[0]}").supervision


def verdicts(folder: Path, split: str) -> list[dict[str, bool]]:
    """What `judge` kept, seed by seed."""
    return [nlvr.read_predictions(folder / f"seed{seed}" / f"{split}.csv") for seed in read(folder).seeds]


def _judge(
    own: Path, split: str, accelerator: Accelerator, examples: Sequence[Example] | None = None
) -> metrics.Scores:
    if examples is None:
        examples = nlvr.read(nlvr.split_file(run.corpus_of(own), split))
    kept = own / f"{split}.csv"
    if not kept.exists():
        judged = probabilities(load(own, device=str(accelerator.device)), examples, accelerator)
        if accelerator.is_main_process:
            nlvr.write_predictions(kept, {identifier: p > 0.5 for identifier, p in judged.items()})
        accelerator.wait_for_everyone()
    return metrics.score(examples, nlvr.read_predictions(kept))


def _is_done(own: Path) -> bool:
    """A seed's verdicts on dev are written last; with its weights they are all that is needed later."""
    return (own / "dev.csv").exists() and files.present(own / checkpoints.BEST) is not None
