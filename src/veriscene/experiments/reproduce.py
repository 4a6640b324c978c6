"""Trains and scores every row of a plan by the protocol.

Finished rows are not repeated, so the same call continues where the last one stopped. The test split is judged once per
row, when all its seeds are trained; seeds that are added later are judged by themselves.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from accelerate import Accelerator

from veriscene import files, models
from veriscene.config import Config, differences
from veriscene.errors import InputError
from veriscene.evaluation.comparison import difference
from veriscene.experiments import seeds
from veriscene.experiments.plans import Plan, Row
from veriscene.experiments.table import Compared, Result, Table
from veriscene.experiments.tuning.space import as_changes
from veriscene.scenes import nlvr
from veriscene.scenes.nlvr import Example
from veriscene.training.distributed import any_process, on_main_process
from veriscene.training.estimate import expected_seconds
from veriscene.training.settings import with_effect
from veriscene.training.source import labelled

Say = Callable[[str], None]


def planned(plan: Plan, names: Sequence[str], *, seeds: int = 0) -> list[Row]:
    """The rows that can be trained, or those that are named; with at least `seeds` seeds where seeds matter."""
    rows = [
        replace(row, seeds=max(row.seeds, seeds)) if row.seeds > 1 else row
        for row in plan.rows
        if row.preset is not None
    ]
    known = {row.name.lower(): row for row in rows}
    for name in names:
        if name.lower() not in known:
            allowed = f"choose from {', '.join(row.name for row in rows)}"
            raise InputError(f"unknown row {name!r}", allowed=allowed)
    named = {name.lower() for name in names}
    return [row for row in rows if row.name.lower() in named] if names else rows


def configuration(row: Row, changes: Sequence[str]) -> Config:
    """The row's settings; raises InputError if they cannot be trained."""
    assert row.preset is not None
    config = models.load_preset(row.preset, [*row.changes, *changes])
    models.check(config.model)
    return config


def check_test_split(data: Path) -> None:
    """Raises InputError if the corpus has a test split that could not be scored: now, not after hours."""
    if _has_test(data):
        labelled(nlvr.read(nlvr.split_file(data, "test")), "test")


def check_begun(plan: Plan, rows: Sequence[Row], changes: Sequence[str], *, data: Path, folder: Path) -> None:
    """Raises InputError if a row cannot be continued as it was started, or does not fit the others of the plan."""
    if folder.exists() and not folder.is_dir():
        raise InputError("is not a folder", where=folder, allowed="name another with --out")
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
    """Of the rows that are not done, by name, from a few small steps each; `tell` is called as soon as one is known.

    Invalid settings of any row are reported first.
    """
    configurations = {row: configuration(row, changes) for row in rows}
    left = {}
    for row, config in configurations.items():
        if not is_done(row, folder):
            left[row.name] = expected_seconds(config, data, accelerator) * seeds.left(folder / row.folder, row.seeds)
            tell(row.name, left[row.name])
    return left


def is_done(row: Row, folder: Path) -> bool:
    return seeds.is_summarised(folder / row.folder, row.seeds)


def carry_out(
    row: Row, changes: Sequence[str], *, data: Path, folder: Path, accelerator: Accelerator, say: Say
) -> Result | None:
    """The row's result, trained now or earlier; None if it was interrupted."""
    own = folder / row.folder
    config = configuration(row, changes)
    assert row.preset is not None
    (is_begun,) = any_process(accelerator, accelerator.is_main_process and seeds.is_folder_of_seeds(own))
    if not is_begun:
        seeds.start(config, preset=row.preset, data=data, folder=own, count=row.seeds, accelerator=accelerator)
    seeds.check_same(own, config, data)
    on_main_process(accelerator, lambda: seeds.extend(own, row.seeds))
    if not is_done(row, folder) and seeds.train(own, accelerator=accelerator, say=say) is None:
        return None
    return result(row, data=data, folder=folder, accelerator=accelerator)


def result(row: Row, *, data: Path, folder: Path, accelerator: Accelerator) -> Result:
    """The result of a row that is done."""
    own = folder / row.folder
    dev = seeds.judge(own, "dev", accelerator=accelerator)
    test = seeds.judge(own, "test", accelerator=accelerator) if _has_test(data) else None
    return Result(row, dev, test, seeds.read(own).supervision, _command(own, count=len(dev.scores)))


def _command(own: Path, *, count: int) -> str:
    """Trains a row again as its own folder says: an earlier call may have had other settings than this one."""
    record = seeds.read(own)
    preset, config = record.preset, record.config
    settings = {key: value for key, (_, value) in differences(models.load_preset(preset), config).items()}
    matter = with_effect(as_changes(settings), config.model, corpus_given=True)
    given = [part for change in matter for part in ("--set", change)]
    return shlex.join(["veriscene", "train", preset, "--data", "NLVR", "--seeds", str(count), *given])


def table_of(plan: Plan, *, data: Path, folder: Path, accelerator: Accelerator) -> Table:
    """All finished rows, those of earlier calls included."""
    done = [row for row in planned(plan, []) if is_done(row, folder)]
    results = [result(row, data=data, folder=folder, accelerator=accelerator) for row in done]
    return Table(plan, results, compare(plan, results, data=data, folder=folder))


def compare(plan: Plan, results: Sequence[Result], *, data: Path, folder: Path) -> list[Compared]:
    """The plan's pairs of rows, as far as both are finished."""
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
    """Of all these splits; the split is part of the identifier, since splits may share identifiers."""
    return [
        replace(example, identifier=f"{split} {example.identifier}")
        for split in splits
        for example in nlvr.read(nlvr.split_file(data, split))
    ]


def _verdicts(folder: Path, splits: Sequence[str]) -> list[dict[str, bool]]:
    """A row's verdicts, seed by seed, under the same identifiers."""
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
