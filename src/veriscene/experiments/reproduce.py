"""A plan carried out: every row trained by the protocol and scored.

Rows that are done are not done again, so the same call goes on where the last one stopped. The test split is looked at
once a row, when all its seeds are trained; seeds that are added later are judged by themselves.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from accelerate import Accelerator

from veriscene import files, models
from veriscene.config import Config, differences, load_preset
from veriscene.errors import InputError
from veriscene.evaluation.comparison import difference
from veriscene.experiments import seeds
from veriscene.experiments.plans import Plan, Row
from veriscene.experiments.table import Compared, Result, Table
from veriscene.experiments.tuning.space import as_changes
from veriscene.scenes import nlvr
from veriscene.scenes.nlvr import Example
from veriscene.training import processes, run
from veriscene.training.effect import with_effect
from veriscene.training.materials import labelled

Say = Callable[[str], None]


def planned(plan: Plan, names: Sequence[str], *, seeds: int = 0) -> list[Row]:
    """The rows that can be trained, or those of them that are named; with at least so many seeds where they differ."""
    rows = [
        replace(row, seeds=max(row.seeds, seeds)) if row.seeds > 1 else row
        for row in plan.rows
        if row.preset is not None
    ]
    known = {row.name.lower(): row for row in rows}
    for name in names:
        if name.lower() not in known:
            raise InputError(f"unknown row {name!r}; choose from {', '.join(row.name for row in rows)}")
    named = {name.lower() for name in names}
    return [row for row in rows if row.name.lower() in named] if names else rows


def configuration(row: Row, changes: Sequence[str]) -> Config:
    """The row's settings; InputError if they do not go together."""
    assert row.preset is not None
    config = load_preset(row.preset, [*row.changes, *changes])
    models.check(config.model)
    return config


def check_test_split(data: Path) -> None:
    """InputError if the corpus has a test split that could not be scored: not after hours, but now."""
    if _has_test(data):
        labelled(nlvr.read(nlvr.split_file(data, "test")), "test")


def check_begun(plan: Plan, rows: Sequence[Row], changes: Sequence[str], *, data: Path, folder: Path) -> None:
    """InputError if one of the rows cannot go on as it was begun, or if any of the plan would not fit the others."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is no folder; name another with --out")
    names = {row.name for row in rows}
    for row in planned(plan, []):
        own = folder / row.folder
        if not seeds.is_folder_of_seeds(own):
            if row.name in names:
                files.check_empty(own, hint="name another folder with --out")
        elif row.name in names:
            seeds.check_same(own, configuration(row, changes), data)
        else:
            seeds.check_same_corpus(own, data)


def expected_seconds_left(
    rows: Sequence[Row],
    changes: Sequence[str],
    *,
    data: Path,
    folder: Path,
    accelerator: Accelerator,
    tell: Callable[[str, float], None] = lambda name, seconds: None,
) -> dict[str, float]:
    """Of the rows that are not done, by name; each is told when it is known, since a few steps of it are timed.

    Whatever is wrong with the settings of any is said first.
    """
    for row in rows:
        configuration(row, changes)
    left = {}
    for row in rows:
        if not is_done(row, folder):
            left[row.name] = expected_seconds(row, changes, data=data, folder=folder, accelerator=accelerator)
            tell(row.name, left[row.name])
    return left


def expected_seconds(row: Row, changes: Sequence[str], *, data: Path, folder: Path, accelerator: Accelerator) -> float:
    """About how long those of the row's seeds that are left take on this machine, by a few steps."""
    trainer = run.rehearse(configuration(row, changes), data=data, accelerator=accelerator)
    return trainer.expected_seconds() * seeds.left(folder / row.folder, row.seeds)


def is_done(row: Row, folder: Path) -> bool:
    return seeds.is_summarised(folder / row.folder, row.seeds)


def carry_out(
    row: Row, changes: Sequence[str], *, data: Path, folder: Path, accelerator: Accelerator, say: Say
) -> Result | None:
    """The row's result, trained now or before; None if it was interrupted."""
    own = folder / row.folder
    config = configuration(row, changes)
    assert row.preset is not None
    (is_begun,) = processes.agree(accelerator, accelerator.is_main_process and seeds.is_folder_of_seeds(own))
    if not is_begun:
        seeds.start(config, preset=row.preset, data=data, folder=own, count=row.seeds, accelerator=accelerator)
    seeds.check_same(own, config, data)
    processes.by_the_first(accelerator, lambda: seeds.extend(own, row.seeds))
    if not is_done(row, folder) and seeds.train(own, accelerator=accelerator, say=say) is None:
        return None
    return result(row, data=data, folder=folder, accelerator=accelerator)


def result(row: Row, *, data: Path, folder: Path, accelerator: Accelerator) -> Result:
    """The result of a row that is done."""
    own = folder / row.folder
    dev = seeds.judge(own, "dev", accelerator=accelerator)
    test = seeds.judge(own, "test", accelerator=accelerator) if _has_test(data) else None
    return Result(row, dev, test, _command(own, count=len(dev.scores)))


def _command(own: Path, *, count: int) -> str:
    """Trains a row again as its own folder tells: an earlier call may have had other settings than this one."""
    preset, config = seeds.preset_and_config(own)
    settings = {key: value for key, (_, value) in differences(load_preset(preset), config).items()}
    matter = with_effect(as_changes(settings), config.model, corpus_given=True)  # what is not for this row is left out
    given = [part for change in matter for part in ("--set", change)]
    return shlex.join(["veriscene", "train", preset, "--data", "NLVR", "--seeds", str(count), *given])


def table_of(plan: Plan, *, data: Path, folder: Path, accelerator: Accelerator) -> Table:
    """Of every row that is done, those of earlier calls too."""
    done = [row for row in planned(plan, []) if is_done(row, folder)]
    results = [result(row, data=data, folder=folder, accelerator=accelerator) for row in done]
    return Table(plan, results, compare(plan, results, data=data, folder=folder))


def compare(plan: Plan, results: Sequence[Result], *, data: Path, folder: Path) -> list[Compared]:
    """The plan's pairs of rows, as far as both are there."""
    splits = ("dev", "test") if _has_test(data) else ("dev",)
    judged = {split: (split,) for split in splits} | ({"both": splits} if len(splits) > 1 else {})
    examples = {name: _examples(data, of) for name, of in judged.items()}
    there = {result.row.name: folder / result.row.folder for result in results}
    pairs = [(one, other) for one, other in plan.compared if one in there and other in there]
    return [
        Compared(
            *pair,
            {
                name: difference(examples[name], *(_verdicts(there[row], of) for row in pair))
                for name, of in judged.items()
            },
        )
        for pair in pairs
    ]


def _examples(data: Path, splits: Sequence[str]) -> list[Example]:
    """Of all these splits; their names tell examples apart that have the same identifier."""
    return [
        replace(example, identifier=f"{split} {example.identifier}")
        for split in splits
        for example in nlvr.read(nlvr.split_file(data, split))
    ]


def _verdicts(folder: Path, splits: Sequence[str]) -> list[dict[str, bool]]:
    """A row's, seed by seed, on the same."""
    of_splits = zip(*(seeds.verdicts(folder, split) for split in splits), strict=True)
    return [
        {f"{split} {name}": verdict for split, own in zip(splits, seed, strict=True) for name, verdict in own.items()}
        for seed in of_splits
    ]


def _has_test(data: Path) -> bool:
    try:
        nlvr.split_file(data, "test")
    except InputError:
        return False
    return True
