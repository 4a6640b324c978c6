"""The protocol: one configuration, several seeds, each at its best on dev; told as mean, spread and best.

A folder of seeds holds seeds.json (how it was started), a run for each seed with its verdicts on dev, and summary.json.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from accelerate import Accelerator

from veriscene import files, models
from veriscene.config import Config, from_json
from veriscene.errors import InputError
from veriscene.evaluation import metrics
from veriscene.evaluation.evaluate import probabilities
from veriscene.experiments.summary import Score, Summary
from veriscene.scenes import nlvr
from veriscene.training import checkpoint as checkpoints
from veriscene.training import processes, run
from veriscene.training.checkpoint import SUMMARY
from veriscene.training.run import SEEDS

MOST = 1_000  # more is a slip of the finger

Say = Callable[[str], None]


def start(
    config: Config, *, preset: str, data: Path | None, folder: Path, count: int, accelerator: Accelerator
) -> None:
    """Makes the folder of `count` seeds, from the configuration's own seed on; not if they could not be trained."""
    if count < 1:
        raise InputError(f"--seeds {count}: at least one seed is needed")
    if count > MOST:
        raise InputError(f"--seeds {count}: at most {MOST:,} are trained at a time")
    last = replace(config, training=replace(config.training, seed=config.training.seed + count - 1))
    from_json(last.to_json(), where=f"--seeds {count}")  # not after hours that the last one has no such number
    models.check(config.model)
    run.check_new(folder, accelerator)
    if data is not None:
        run.rehearse(config, data=data, accelerator=accelerator)
    with run.created(folder, accelerator, fill=[SEEDS]):
        processes.by_the_first(accelerator, lambda: _record(folder, config, preset, data, count))


def extend(folder: Path, count: int) -> None:
    """Makes it a folder of so many seeds if it is one of fewer; those that are there stay as they are."""
    with files.locked(folder):
        _, data, _, seeds = _read(folder)
        _check_unchanged(folder, data)
        if (missing := count - len(seeds)) > 0:
            record = json.loads(files.read_text(folder / SEEDS))
            record["seeds"] = [*seeds, *range(max(seeds) + 1, max(seeds) + 1 + missing)]
            files.write_text(folder / SEEDS, json.dumps(record, indent=1) + "\n")


def left(folder: Path, count: int) -> int:
    """How many seeds are still to be trained until the folder has so many, or as many as it was made for."""
    if not is_folder_of_seeds(folder):
        return count
    seeds = _read(folder)[3]
    return max(count, len(seeds)) - sum(_is_done(folder / f"seed{seed}") for seed in seeds)


def is_summarised(folder: Path, count: int) -> bool:
    """Whether so many seeds are done, all that the folder was made for among them, and summed up."""
    try:
        summed_up = len(json.loads(files.read_text(folder / SUMMARY))["dev"]["scores"])
    except (InputError, ValueError, KeyError, TypeError):
        return False  # not there or damaged; it is written anew, and no seed is trained again for that
    return summed_up >= max(count, len(_read(folder)[3]))


def check_same(folder: Path, config: Config, data: Path) -> None:
    """InputError if the folder was started with other settings or on another corpus."""
    if preset_and_config(folder)[1] != config:
        raise InputError(f"{folder}: was started with other settings; name another folder with --out")
    check_same_corpus(folder, data)


def check_same_corpus(folder: Path, data: Path) -> None:
    """InputError if the folder was started on another corpus, or if that has changed since."""
    if _read(folder)[1] != data.resolve():
        raise InputError(f"{folder}: was started on another corpus; name another folder with --out")
    _check_unchanged(folder, data)


def preset_and_config(folder: Path) -> tuple[str, Config]:
    """What the folder was started with."""
    preset, _, config, _ = _read(folder)
    return preset, config


def is_folder_of_seeds(folder: Path) -> bool:
    return (folder / SEEDS).is_file()


def train(folder: Path, *, accelerator: Accelerator, say: Say, quiet: bool = False) -> Summary | None:
    """Trains what is left of a folder of seeds, and scores each on dev; None if it was interrupted."""
    with run.alone(folder, accelerator):
        return _train(folder, accelerator, say, quiet)


def _train(folder: Path, accelerator: Accelerator, say: Say, quiet: bool) -> Summary | None:
    preset, data, config, seeds = _read(folder)
    _check_unchanged(folder, data)
    for seed in seeds:
        own = folder / f"seed{seed}"
        # The first process decides: another one might come late, and find what that one has begun meanwhile.
        is_first = accelerator.is_main_process
        is_begun, is_done = processes.agree(
            accelerator, is_first and (own / run.RUN).exists(), is_first and _is_done(own)
        )
        if is_done:
            continue
        if is_begun:
            trainer = run.resume(own, accelerator=accelerator, quiet=quiet)
        else:
            if accelerator.is_main_process:
                shutil.rmtree(own, ignore_errors=True)  # what a crash left before the run began
            settings = replace(config, training=replace(config.training, seed=seed))
            trainer = run.start(settings, preset=preset, data=data, folder=own, accelerator=accelerator, quiet=quiet)
        if not trainer.position.finished:
            say(f"{preset}, seed {seed} of {', '.join(map(str, seeds))}: run {own}")
            if accelerator.is_main_process:  # before there are new weights, to which they would seem to belong
                for verdicts_of_others in own.glob("*.csv"):
                    verdicts_of_others.unlink()
            accelerator.wait_for_everyone()
            if trainer.fit().interrupted:
                return None
        trainer.held.close()  # where nothing was left to fit
        _judge(own, "dev", accelerator)
    summary = judge(folder, "dev", accelerator=accelerator)
    if accelerator.is_main_process:
        best = f"seed{summary.best.seed}"
        files.write_text(folder / SUMMARY, json.dumps({"best": best, "dev": summary.to_json()}, indent=1) + "\n")
    return summary


def judge(folder: Path, split: str, *, accelerator: Accelerator) -> Summary:
    """Every seed's scores on a split of its corpus. Verdicts are kept beside the weights, and not asked for again."""
    _, _, _, seeds = _read(folder)
    scored = ((seed, _judge(folder / f"seed{seed}", split, accelerator)) for seed in seeds)
    return Summary(tuple(Score(seed, of_it.accuracy, of_it.consistency) for seed, of_it in scored))


def verdicts(folder: Path, split: str) -> list[dict[str, bool]]:
    """What `judge` kept, seed by seed."""
    return [nlvr.read_predictions(_kept(folder / f"seed{seed}", split)) for seed in _read(folder)[3]]


def _record(folder: Path, config: Config, preset: str, data: Path | None, count: int) -> None:
    first = config.training.seed
    record = {
        "preset": preset,
        "data": None if data is None else str(data.resolve()),
        "config": config.to_json(),
        "seeds": list(range(first, first + count)),
        "corpus": None if data is None else _digest(data),
    }
    files.write_text(folder / SEEDS, json.dumps(record, indent=1) + "\n")


def _digest(data: Path) -> str:
    """What the seeds of a folder have in common: the examples that they learn from and are chosen by."""
    digest = hashlib.sha256()
    for split in ("train", "dev"):
        digest.update(nlvr.split_file(data, split).read_bytes())
    return digest.hexdigest()


def _check_unchanged(folder: Path, data: Path | None) -> None:
    """A seed that is done is not looked at again, so nobody else would see that the next one learns something else."""
    told = json.loads(files.read_text(folder / SEEDS)).get("corpus")
    if data is not None and told is not None and told != _digest(data):
        raise InputError(f"{folder}: its data has changed since; go on with the corpus it was started on")


def _judge(own: Path, split: str, accelerator: Accelerator) -> metrics.Scores:
    examples = nlvr.read(nlvr.split_file(run.corpus_of(own), split))
    kept = _kept(own, split)
    if not kept.exists():
        judged = probabilities(checkpoints.load(own), examples, accelerator)
        if accelerator.is_main_process:
            nlvr.write_predictions(kept, {identifier: p > 0.5 for identifier, p in judged.items()})
        accelerator.wait_for_everyone()
    return metrics.score(examples, nlvr.read_predictions(kept))


def _kept(own: Path, split: str) -> Path:
    return own / f"{split}.csv"


def _is_done(own: Path) -> bool:
    """A seed's verdicts on dev come last; with its weights they are all that is asked of it later."""
    return _kept(own, "dev").exists() and checkpoints.present(own / checkpoints.BEST) is not None


def _read(folder: Path) -> tuple[str, Path | None, Config, Sequence[int]]:
    try:
        record = json.loads(files.read_text(folder / SEEDS))
        data = None if record["data"] is None else Path(record["data"])
        config = from_json(record["config"], where=str(folder / SEEDS))
        seeds = [int(seed) for seed in record["seeds"]]
        if not seeds:
            raise ValueError
        return str(record["preset"]), data, config, seeds
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(f"{folder / SEEDS}: damaged; start anew in another folder") from None
