"""Trains and scores every row of a plan by the protocol.

Finished rows are not repeated, so the same call continues where the last one stopped. The test split is judged once per
row, when all its seeds are trained; seeds that are added later are judged by themselves.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from veriscene import files, models
from veriscene.config import Config
from veriscene.data.source import labelled
from veriscene.data.teacher.statements import check_files
from veriscene.errors import InputError, MissingRequirement
from veriscene.lab import seeds
from veriscene.lab.plans import Plan, Row
from veriscene.lab.settings import configure
from veriscene.lab.table import Compared, Result, Table
from veriscene.metrics.comparison import difference
from veriscene.models.settings import as_changes, flat, train_command
from veriscene.training.distributed import Machine
from veriscene.training.spec import Spec
from veriscene.worlds.nlvr import corpus as nlvr


def planned(plan: Plan, names: Sequence[str] = (), *, seeds: int = 0) -> list[Row]:
    """All rows, or those that are named; with at least `seeds` seeds where seeds matter."""
    rows = [replace(row, seeds=max(row.seeds, seeds if row.seeds > 1 else 1)) for row in plan.rows]
    known, named = {row.name.lower() for row in rows}, {name.lower(): name for name in names}
    for unknown in named.keys() - known:
        allowed = f"choose from {'; '.join(row.name for row in rows)}"  # names have commas
        raise InputError(f"unknown row {named[unknown]!r}", allowed=allowed)
    return [row for row in rows if row.name.lower() in named] if names else rows


@dataclass(frozen=True)
class Reproduction:
    """A plan in a folder: each row is a folder of seeds in it."""

    plan: Plan
    changes: Sequence[str]  # of every row's settings
    data: Path
    folder: Path
    machine: Machine
    programs: Sequence[Path] = ()  # files with which some rows are taught
    elsewhere: Mapping[str, Path] = field(default_factory=dict)  # folders of rows that another plan trains, by name

    def own(self, row: Row) -> Path:
        """The row's folder of seeds."""
        return self.elsewhere.get(row.name, self.folder / row.folder)

    def configuration(self, row: Row) -> Config:
        return configure(row.preset, [*row.changes, *self.changes])

    def spec(self, row: Row) -> Spec:
        """What the row's seeds are trained with."""
        before = self._initial(row)
        return Spec(
            config=self.configuration(row),
            corpus=self.data.resolve(),
            programs=tuple(path.resolve() for path in self.taught_by(row)),
            initial=None if before is None else str(self.own(before).resolve()),
            preset=row.preset,
        )

    def taught_by(self, row: Row) -> Sequence[Path]:
        """The files of programs that teach the row; raises MissingRequirement if it needs some and there are none."""
        if row.programs and not self.programs:
            raise MissingRequirement(f"programs teach {row.name}", allowed="give files of them with --teacher")
        return self.programs if row.programs else ()

    def lacking(self, rows: Sequence[Row]) -> dict[str, InputError]:
        """Why rows cannot be trained here: a library, pretrained weights or programs are missing. Changes that do not
        fit a row are an error only if it is trained (`check`)."""
        reasons: dict[str, InputError] = {}
        for row in rows:
            try:
                self.taught_by(row)
                self.configuration(row)
            except MissingRequirement as error:
                reasons[row.name] = error
            except InputError:
                continue
        return reasons

    def check(self, rows: Sequence[Row]) -> None:
        """Raises InputError if a row cannot be trained, continued as it was started, or compared with the others."""
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError("is not a folder", where=self.folder, allowed="name another with --out")
        self.check_initial(rows)
        self._check_changes()
        check_files(self.programs)
        for row in rows:
            seeds.check_count(row.seeds)
            self.taught_by(row)
        configurations = {row.name: self.configuration(row) for row in rows}
        for row in planned(self.plan):
            own, is_trained = self.own(row), row.name in configurations
            if seeds.is_folder_of_seeds(own):
                # Rows that are not trained now may have been trained with other settings, but not on other data.
                trained = replace(seeds.read(own).spec, corpus=self.data.resolve())
                seeds.check_same(own, self.spec(row) if is_trained else trained)
            elif is_trained:
                files.check_empty(own, hint="name another folder with --out")

    def _check_changes(self) -> None:
        """Raises InputError if a change would undo what tells rows of the plan apart."""
        for key in dict.fromkeys(change.partition("=")[0].strip() for change in self.changes):
            own = [[change for change in row.changes if change.partition("=")[0] == key] for row in self.plan.rows]
            if any(changes != own[0] for changes in own):
                allowed = "change only what they have in common, or train such a model with `veriscene train`"
                raise InputError("rows of this plan differ in it", where=f"--set {key}", allowed=allowed)

    def check_initial(self, rows: Sequence[Row]) -> None:
        """Raises InputError if a row starts from the models of another that is neither trained nor among the rows."""
        for row in rows:
            before = self._initial(row)
            if before and before.name not in {other.name for other in rows} and not self.is_done(before):
                what = f"{row.name} starts from the models of {before.name}"
                allowed = f"train that row first, or with it: --row {shlex.quote(before.name)}"
                raise InputError(what, where=self.folder, allowed=allowed)

    def _initial(self, row: Row) -> Row | None:
        return next((other for other in planned(self.plan) if other.name == row.initial), None)

    def check_test_split(self) -> None:
        """Raises InputError if the test split could not be scored: before the training, not after hours."""
        if "test" in self.splits:
            labelled(nlvr.read(nlvr.split_file(self.data, "test")), "test")

    def is_done(self, row: Row) -> bool:
        return seeds.is_summarised(self.own(row), row.seeds)

    def run_row(self, row: Row) -> Result | None:
        """The row's result, trained now or earlier; None if it was interrupted."""
        own, machine = self.own(row), self.machine
        (is_begun,) = machine.any(machine.is_main and seeds.is_folder_of_seeds(own))
        if is_begun:
            seeds.check_same(own, self.spec(row))
            is_done = self.is_done(row) or seeds.resume(own, count=row.seeds, machine=machine) is not None
        else:
            is_done = seeds.start(self.spec(row), own, row.seeds, machine=machine) is not None
        return self._result(row) if is_done else None

    def table(self, before: Table | None = None, *, changed: Collection[str] = ()) -> Table:
        """All finished rows, those of earlier calls included, and the plan's pairs of them.

        What an earlier table says is taken from there, except of rows that have `changed` since: reading verdicts and
        resampling them takes seconds per row.
        """
        same = {r.row.name: r for r in (before.results if before else ()) if r.row.name not in changed}
        results = [same.get(row.name) or self._result(row) for row in planned(self.plan) if self.is_done(row)]
        folders = {result.row.name: self.own(result.row) for result in results}
        compared = {
            (c.first, c.second): c for c in (before.compared if before else ()) if same.keys() >= {c.first, c.second}
        }
        pairs = [pair for pair in self.plan.compared if folders.keys() >= set(pair)]
        return Table(self.plan, results, [compared.get(pair) or self._compared(pair, folders) for pair in pairs])

    def _compared(self, pair: tuple[str, str], folders: Mapping[str, Path]) -> Compared:
        judged: dict[str, tuple[str, ...]] = {split: (split,) for split in self.splits}
        if len(judged) > 1:
            judged["both"] = self.splits
        gaps = {}
        for name, splits in judged.items():
            both = (_verdicts(folders[row], splits) for row in pair)
            gaps[name] = difference(self._named_examples(splits), *both)
        return Compared(*pair, gaps)

    @property
    def splits(self) -> tuple[str, ...]:
        """Those that rows are judged on."""
        if not self.plan.final:
            return ("dev",)
        try:
            nlvr.split_file(self.data, "test")
        except InputError:
            return ("dev",)
        return ("dev", "test")

    def _result(self, row: Row) -> Result:
        """Of a row that is done. Its command follows its own folder: earlier calls may have had other settings."""
        own = self.own(row)
        scores = {s: seeds.judge(own, s, machine=self.machine, examples=e) for s, e in self._examples.items()}
        record = seeds.read(own)
        spec = record.spec
        usual = flat(models.load_preset(spec.preset))
        changes = as_changes({key: value for key, value in flat(spec.config).items() if usual.get(key) != value})
        before = self._initial(row)
        options = ["--seeds", str(len(record.seeds)), *(["--init", before.folder] if before else [])]
        options += [part for path in spec.programs for part in ("--teacher", path.name)]
        command = train_command(spec.preset, "NLVR", changes, spec.config, *options)
        return Result(row, scores["dev"], scores.get("test"), seeds.supervision(own), command)

    @cached_property
    def _examples(self) -> dict[str, list[nlvr.Example]]:
        """By split."""
        return {split: nlvr.read(nlvr.split_file(self.data, split)) for split in self.splits}

    def _named_examples(self, splits: Sequence[str]) -> list[nlvr.Example]:
        """Of all these splits; the split is part of the identifier, since splits may share identifiers."""
        return [
            replace(example, identifier=f"{split} {example.identifier}")
            for split in splits
            for example in self._examples[split]
        ]


def _verdicts(folder: Path, splits: Sequence[str]) -> list[dict[str, bool]]:
    """A row's verdicts, seed by seed, under the same identifiers."""
    of_splits = zip(*(seeds.verdicts(folder, split) for split in splits), strict=True)
    return [
        {f"{split} {name}": verdict for split, own in zip(splits, seed, strict=True) for name, verdict in own.items()}
        for seed in of_splits
    ]
