"""Trains and scores the rows of a plan by the protocol, and writes its table, its figures and its page.

Finished rows are not repeated, so the same call continues where the last one stopped. The test split is judged once per
row, when all its seeds are trained; seeds that are added later are judged by themselves.
"""

from __future__ import annotations

import json
import os
import platform
import shlex
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import metadata
from pathlib import Path

from veriscene import __version__, files, models, worlds
from veriscene.config import Config, train_command
from veriscene.data.teacher.statements import check_files
from veriscene.errors import InputError, MissingRequirement, missing_package
from veriscene.judge import load
from veriscene.judge.card import changes_with_effect
from veriscene.judge.evaluate import judged, probabilities
from veriscene.judge.folders import SUMMARY
from veriscene.lab import seeds
from veriscene.lab.plans import Plan, Row
from veriscene.lab.table import Compared, Result, Table, page, predictions_file
from veriscene.metrics.accuracy import difference, train_statements
from veriscene.metrics.judged import Judged
from veriscene.models.settings import key_of
from veriscene.output import counted
from veriscene.training.distributed import Machine
from veriscene.training.source import labelled
from veriscene.training.spec import Record, Spec, commit
from veriscene.world.corpus import split_file
from veriscene.world.examples import Example

FIGURES = "figures"  # the folder of the figures
LIBRARIES = ("torch", "accelerate", "numpy", "scikit-learn", "matplotlib")
# Heat maps take much room, and the paper's contrast shows two baselines in one figure.
EXAMPLES = {"errors": 4, "order": 4, "attention": 2, "contrast": 2}


def planned(plan: Plan, names: Sequence[str] = (), *, seeds: int = 0) -> list[Row]:
    """Returns all rows, or those that are named, with at least `seeds` seeds where seeds matter."""
    rows = [replace(row, seeds=max(row.seeds, seeds if row.seeds > 1 else 1)) for row in plan.rows]
    known, named = {row.name.lower() for row in rows}, {name.lower(): name for name in names}
    for unknown in named.keys() - known:
        allowed = f"choose from {'; '.join(row.name for row in rows)}"  # names have commas
        raise InputError(f"unknown row {named[unknown]!r}", allowed=allowed)
    return [row for row in rows if row.name.lower() in named] if names else rows


@dataclass(frozen=True)
class Reproduction:
    """Trains and scores a plan in a folder, which has a folder of seeds for each row. Plans may share rows."""

    plan: Plan
    changes: Sequence[str]  # of every row's settings
    data: Path
    folder: Path
    machine: Machine
    programs: Sequence[Path] = ()  # files with which some rows are taught
    _compared: dict[object, Compared] = field(default_factory=dict)  # what was resampled so far

    def own(self, row: Row) -> Path:
        """Returns the row's folder of seeds."""
        return self.folder / row.folder

    def configuration(self, row: Row) -> Config:
        """Returns the row's settings; raises InputError unless such a model can be built and trained."""
        config = models.load_preset(row.preset, [*row.changes, *self.changes])
        models.check(config.model, worlds.of_corpus(self.data))
        return config

    def spec(self, row: Row) -> Spec:
        """Returns what the row's seeds are trained with."""
        before = self._initial(row)
        return Spec(
            config=self.configuration(row),
            world=worlds.of_corpus(self.data),
            corpus=self.data.resolve(),
            programs=tuple(path.resolve() for path in self.taught_by(row)),
            initial=None if before is None else str(self.own(before).resolve()),
            preset=row.preset,
        )

    def taught_by(self, row: Row) -> Sequence[Path]:
        """Returns the files of programs that teach the row; raises MissingRequirement if it needs some."""
        if row.programs and not self.programs:
            raise MissingRequirement(f"programs teach {row.name}", allowed="give files of them with --teacher")
        return self.programs if row.programs else ()

    def is_done(self, row: Row) -> bool:
        """Tells whether all seeds of the row are trained and judged on dev."""
        return seeds.is_summarised(self.own(row), row.seeds)

    def command(self, row: Row, *, here: bool = False) -> str:
        """Writes the command that trains the row: as it was started, or else as it would be started now. `here`: with
        the paths of this machine."""
        spec, count = None, row.seeds
        if seeds.is_folder_of_seeds(self.own(row)):
            record = seeds.read(self.own(row))
            spec, count = record.spec, len(record.seeds)
        spec, before = spec or self.spec(row), self._initial(row)
        initial = None if before is None else str(self.own(before)) if here else before.folder
        options = ["--seeds", str(count), *(["--init", initial] if initial else [])]
        options += [part for path in spec.programs for part in ("--teacher", str(path) if here else path.name)]
        changes = changes_with_effect(row.preset, spec.config, taught=spec.is_taught)
        return train_command(row.preset, changes, data=str(self.data) if here else "NLVR", options=options)

    # ---------------------------------------------------------------- checks

    def lacking(self, rows: Sequence[Row]) -> dict[str, MissingRequirement]:
        """Returns why rows cannot be trained here: a library, pretrained weights or programs are missing. Changes that
        do not fit a row are an error only if it is trained (`check`)."""
        reasons: dict[str, MissingRequirement] = {}
        for row in rows:
            try:
                self.taught_by(row)
                self.configuration(row)
            except MissingRequirement as error:
                reasons[row.name] = error
            except InputError:
                continue
        return reasons

    def trainable(self, names: Sequence[str], *, seeds: int, sharded: bool = False) -> list[Row]:
        """Returns the rows that are named, or else all that can be trained here; says which others are left out.

        Shards share the seeds of the same rows, so for them InputError if a row cannot be trained here.
        """
        rows = planned(self.plan, names, seeds=seeds)
        lacking = {} if names else self.lacking(rows)  # an error only if they are asked for
        if lacking and (sharded or len(lacking) == len(rows)):
            raise next(iter(lacking.values()))
        for name, reason in lacking.items():
            self.machine.output.say(f"{name}: left out: {reason}")
        return [row for row in rows if row.name not in lacking]

    def check(self, rows: Sequence[Row]) -> None:
        """Raises InputError if a row cannot be trained, continued as it was started, or compared with the others."""
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError("is not a folder", where=self.folder, allowed="name another with --out")
        for split in ("train", "dev"):
            split_file(self.data, split)
        self._check_changes()
        check_files(self.programs, worlds.of_corpus(self.data))
        for row in rows:
            seeds.check_count(row.seeds)
            self.taught_by(row)
            before = self._initial(row)
            if before and before.name not in {other.name for other in rows} and not self.is_done(before):
                what = f"{row.name} starts from the models of {before.name}"
                allowed = f"train that row first, or with it: --row {shlex.quote(before.name)}"
                raise InputError(what, where=self.folder, allowed=allowed)
        configurations = {row.name: self.configuration(row) for row in rows}
        for row in self.plan.rows:
            own, config = self.own(row), configurations.get(row.name)
            if seeds.is_folder_of_seeds(own):
                # Rows that are not trained now may have other settings, but not other data.
                trained = replace(seeds.read(own).spec, corpus=self.data.resolve())
                seeds.check_same(own, trained if config is None else self.spec(row))
            elif config is not None:
                files.check_empty(own, hint="name another folder with --out")

    def _check_changes(self) -> None:
        """Raises InputError if a change would undo what tells rows of the plan apart."""
        for key in map(key_of, self.changes):
            own = [[change for change in row.changes if key_of(change) == key] for row in self.plan.rows]
            if any(changes != own[0] for changes in own):
                allowed = "change only what they have in common, or train such a model with `veriscene train`"
                raise InputError("rows of this plan differ in it", where=f"--set {key}", allowed=allowed)

    def _initial(self, row: Row) -> Row | None:
        return next((other for other in self.plan.rows if other.name == row.initial), None)

    # ---------------------------------------------------------------- training and scoring

    def run(self, rows: Sequence[Row], name: str, *, command: str) -> bool:
        """Trains the rows that are not done and writes NAME.md, NAME.json, NAME.html and the figures after each of
        them; returns False if it was interrupted. `command` is what the page says how it was made."""
        _ = self._examples  # a test split that cannot be scored is an error now, not after hours
        for row in rows:
            was_done = self.is_done(row)
            result = self.run_row(row)
            if result is None:
                break
            self.machine.output.say(f"{row.name}: dev {result.dev}")
            if not was_done and row is not rows[-1]:
                self.write(name, command=command)
        self.write(name, command=command)
        return all(map(self.is_done, rows))

    def run_shard(self, rows: Sequence[Row], name: str, shard: seeds.Shard, *, command: str) -> int | None:
        """Trains a shard of the rows' seeds, and returns how many are left to other shards. If none are, it does as
        `run` does, after others that do so now. Returns None if it was interrupted.

        A seed that starts from another row's model is trained by the shard that trains this model.
        """
        _ = self._examples  # as above
        cells: dict[tuple[Path, int], list[tuple[Path, int, Record]]] = {}
        for own, row in {self.own(row): row for row in rows}.items():  # rows may share their runs
            record = seeds.prepare(self.spec(row), own, row.seeds, machine=self.machine)
            for seed in record.seeds:
                cells.setdefault((self.own(self._initial(row) or row), seed), []).append((own, seed, record))
        for own, seed, record in (cell for chain in list(cells.values())[shard[0] :: shard[1]] for cell in chain):
            if not seeds.train_seed(own, seed, record, self.machine):
                return None
        # One process looks: another shard may finish a seed meanwhile.
        if left := int(self.machine.from_main(str(self.seeds_left(rows)))):
            return left
        with self.machine.locked(self.folder, wait=True):
            return 0 if self.run(rows, name, command=command) else None

    def seeds_left(self, rows: Sequence[Row]) -> int:
        """Returns how many seeds of the rows are not trained yet."""
        return sum(seeds.left(own, count) for own, count in {self.own(row): row.seeds for row in rows}.items())

    def run_row(self, row: Row) -> Result | None:
        """Returns the row's result, trained now or earlier; None if it was interrupted."""
        own, machine = self.own(row), self.machine
        (is_begun,) = machine.any(machine.is_main and seeds.is_folder_of_seeds(own))
        if is_begun:
            seeds.check_same(own, self.spec(row))
            is_done = self.is_done(row) or seeds.resume(own, count=row.seeds, machine=machine) is not None
        else:
            is_done = seeds.start(self.spec(row), own, row.seeds, machine=machine) is not None
        return self._result(row) if is_done else None

    def _result(self, row: Row) -> Result:
        own, seen = self.own(row), self._seen
        scores = {
            split: seeds.judge(own, split, machine=self.machine, examples=examples, seen=seen)
            for split, examples in self._examples.items()
        }
        return Result(row, scores["dev"], scores.get("test"), seeds.supervision(own), self.command(row))

    def table(self) -> Table:
        """Returns all finished rows, those of earlier calls included, and the plan's pairs of them."""
        results = {row.name: self._result(row) for row in self.plan.rows if self.is_done(row)}
        pairs = [pair for pair in self.plan.compared if results.keys() >= set(pair)]
        return Table(self.plan, list(results.values()), [self._compare(results[a], results[b]) for a, b in pairs])

    def _compare(self, first: Result, second: Result) -> Compared:
        """Compares two rows on each split and, where there are several, on all of them together."""
        key = (first.row.name, second.row.name, len(first.dev.scores), len(second.dev.scores))
        if key not in self._compared:  # resampling takes seconds
            splits = {split: (split,) for split in self._examples}
            gaps = {}
            for name, judged_on in {**splits, **({"both": tuple(splits)} if len(splits) > 1 else {})}.items():
                examples = [
                    replace(example, identifier=f"{split} {example.identifier}")  # splits may share identifiers
                    for split in judged_on
                    for example in self._examples[split]
                ]
                both = (_verdicts(self.own(result.row), judged_on) for result in (first, second))
                gaps[name] = difference(examples, *both)
            self._compared[key] = Compared(first.row.name, second.row.name, gaps)
        return self._compared[key]

    @cached_property
    def _examples(self) -> dict[str, Sequence[Example]]:
        """Returns the labelled examples of each split that rows are judged on."""
        paths = {"dev": split_file(self.data, "dev")}
        if self.plan.final:
            with suppress(InputError):  # the corpus has none
                paths["test"] = split_file(self.data, "test")
        return {split: labelled(worlds.read(path), split) for split, path in paths.items()}

    @cached_property
    def _seen(self) -> frozenset[str] | None:
        return train_statements(self.data)

    # ---------------------------------------------------------------- table, figures and page

    def write(self, name: str, *, command: str) -> None:
        """Writes NAME.md, NAME.json, NAME.html, every row's verdicts, and the figures whose models are new."""
        self.machine.wait()  # all processes must find the same rows done
        table, undrawn = self.table(), self._draw()

        def write_files() -> None:
            absent = {row.name: self._why_absent(row) for row in self.plan.rows if not self.is_done(row)}
            drawn = {path.stem: files.read_text(path) for path in self.figure_files()}
            text = page(table, absent, drawn, undrawn, self._origin(command), self._runs(table))
            files.write_text(self.folder / f"{name}.md", table.markdown())
            files.write_text(self.folder / f"{name}.json", json.dumps(table.to_json(), indent=1) + "\n")
            files.write_text(self.folder / f"{name}.html", text)
            for result in table.results:
                kept = seeds.predictions(self.own(result.row), list(self._examples))
                files.write_bytes(self.folder / predictions_file(result.row), kept)

        self.machine.on_main(write_files)

    def figure_files(self) -> list[Path]:
        """Returns the plan's figures that are drawn, as SVG."""
        paths = (self.folder / FIGURES / f"{name}.svg" for figure in self.plan.figures for name in figure.ours)
        return [path for path in paths if path.is_file() and path.stat().st_size]

    def _draw(self) -> dict[str, str]:
        """Draws the figures whose rows were trained since they were drawn; returns why others are missing."""
        undrawn: dict[str, str] = {}
        rows = {row.name: row for row in self.plan.rows}
        for name, needed in (ours for figure in self.plan.figures for ours in figure.ours.items()):
            target = self.folder / FIGURES / f"{name}.svg"
            if lacking := [row for row in needed if not self.is_done(rows[row])]:
                undrawn[name] = f"not drawn yet: it needs {' and '.join(lacking)}, not trained so far"
                continue
            trained = max((self.own(rows[row]) / SUMMARY).stat().st_mtime_ns for row in needed)
            is_old = not target.is_file() or target.stat().st_mtime_ns < trained
            (is_old,) = self.machine.any(self.machine.is_main and is_old)
            if is_old:
                try:
                    self._draw_figure({row: self.own(rows[row]) for row in needed}, target)
                except ModuleNotFoundError as error:
                    undrawn[name] = f"not drawn here: {missing_package(error)}"
                    continue
            if target.is_file() and not target.stat().st_size:
                undrawn[name] = "no dev example can be shown"
        return undrawn

    def _draw_figure(self, rows: Mapping[str, Path], target: Path) -> None:
        """Writes a figure of the rows' models as SVG and PDF; an empty SVG if no example can be shown."""
        from veriscene.report.figures import choose, draw

        kind, dev = target.stem.partition("-")[0], self._examples["dev"]
        judges = [load(folder, device=str(self.machine.device)) for folder in rows.values()]
        every = []
        for judge in judges:
            found = probabilities(judge, dev, self.machine.accelerator)
            every.append([Judged(each, found[each.identifier]) for each in dev])

        def write_figure() -> None:
            shown = choose(kind, every, EXAMPLES[kind])
            if kind in ("order", "attention"):  # which would take much memory for all examples
                shown = [(each,) for each in judged(judges[0], [verdicts[0].example for verdicts in shown])]
            target.with_suffix(".pdf").unlink(missing_ok=True)
            made = draw(kind, shown, list(rows))[0] if shown else {"svg": b""}
            for suffix, content in made.items():
                files.write_bytes(target.with_suffix(f".{suffix}"), content)

        self.machine.on_main(write_figure)

    def _why_absent(self, row: Row) -> str:
        if (reason := self.lacking([row]).get(row.name)) is not None:
            return str(InputError(reason.what, allowed=reason.allowed))  # not where it should be on this machine
        if not seeds.is_folder_of_seeds(own := self.own(row)):
            return "not trained yet"
        count = len(seeds.read(own).seeds)
        return f"{count - seeds.left(own, row.seeds)} of {counted(count, 'seed')} trained so far"

    def _origin(self, command: str) -> list[tuple[str, str]]:
        """Returns facts about the command that writes the page."""
        versions = []
        for library in LIBRARIES:
            try:
                versions.append(f"{library} {metadata.version(library)}")
            except metadata.PackageNotFoundError:
                versions.append(f"no {library}")
        return [
            ("command", command),
            ("corpus", str(self.data)),
            ("commit", commit() or "unknown"),
            ("machine", f"{self.machine}; {counted(len(os.sched_getaffinity(0)), 'core')}, {platform.platform()}"),
            ("environment", ", ".join([f"veriscene {__version__}", *versions])),
            ("page written", time.strftime("%Y-%m-%d %H:%M:%S %z")),
        ]

    def _runs(self, table: Table) -> list[tuple[str, str]]:
        """Returns how each row was trained: command, commits and machines of its seeds."""
        told = []
        for result in table.results:
            own = self.own(result.row)
            records = [Record.read(own / f"seed{seed}") for seed in seeds.read(own).seeds]
            commits = ", ".join(dict.fromkeys(record.commit or "unknown" for record in records))
            machines = ", ".join(dict.fromkeys(record.machine for record in records))
            text = f"{result.command}; commit {commits}; {machines}; first seed started {records[0].started}"
            told.append((result.row.name, text))
        return told


def _verdicts(folder: Path, splits: Sequence[str]) -> list[dict[str, bool]]:
    """Returns a row's verdicts, seed by seed, under the split and the identifier of each example."""
    of_splits = zip(*(seeds.verdicts(folder, split) for split in splits), strict=True)
    return [
        {f"{split} {name}": verdict for split, own in zip(splits, seed, strict=True) for name, verdict in own.items()}
        for seed in of_splits
    ]
