"""Table 1, ablations, figures and page in one folder: what is there is reused, and the page shows what there is.

FOLDER/table1 and FOLDER/ablations are what `veriscene reproduce table1` and `… ablations` write; FOLDER/figures holds
the figures, and FOLDER/paper.html the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from veriscene import files
from veriscene.errors import InputError, MissingRequirement
from veriscene.lab import seeds
from veriscene.lab.paper import backbone, origin
from veriscene.lab.paper.figures import FIGURES, Drawer
from veriscene.lab.paper.inline import inlined
from veriscene.lab.paper.page import Shown, page
from veriscene.lab.plans import MEASURED_AS, PLANS, Plan, Row
from veriscene.lab.reproduce import Reproduction, planned
from veriscene.lab.table import Table
from veriscene.training.distributed import Machine
from veriscene.worlds.nlvr import corpus as nlvr

PAGE = "paper.html"


class Paper:
    def __init__(
        self,
        names: Sequence[str] = (),
        *,
        seeds: int = 0,
        changes: Sequence[str] = (),
        data: Path,
        folder: Path,
        machine: Machine,
        command: str,
    ) -> None:
        """`names` are rows of either plan, those to train; without any, all that can be trained here."""
        self.data, self.folder, self.machine, self.command = data, folder, machine, command
        table1, ablations = (
            Reproduction(PLANS[name], changes, data, folder / name, machine) for name in ("table1", "ablations")
        )
        ablations = replace(ablations, elsewhere=_trained_elsewhere(ablations, table1))
        self.works = {"table1": table1, "ablations": ablations}
        rows = [row for work in self.works.values() for row in work.plan.rows]
        asked = planned(Plan("paper", tuple(rows)), names, seeds=seeds)
        lacking = {name: why for work in self.works.values() for name, why in work.lacking(work.plan.rows).items()}
        self.waiting = {name for name, why in lacking.items() if backbone.can_be_made(why, machine)}
        self.lacking = {name: why for name, why in lacking.items() if name not in self.waiting}
        self.todo = list(self._trainings([row for row in asked if names or row.name not in self.lacking]))
        models = {row.name: table1.own(row) for row in table1.plan.rows}
        self.drawer = Drawer(folder / "figures", models, nlvr.read(nlvr.split_file(data, "dev")), machine)
        self.tables: dict[str, Table] = {}

    def check(self) -> None:
        """Raises InputError if a row cannot be trained, continued or compared with the others."""
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError("is not a folder", where=self.folder, allowed="name another with --out")
        for work in self.works.values():
            rows = [row for its, row in self.todo if its is work]
            work.check_initial(rows)
            work.check([row for row in rows if row.name not in self.waiting])
            work.check_test_split()

    def left(self) -> list[str]:
        """The parts that are not done, by name."""
        rows = [row.name for work, row in self.todo if not work.is_done(row)]
        makes_backbone = any(row.name in self.waiting for _, row in self.todo)
        return [*rows, *([backbone.NAME] if makes_backbone else [])]

    def run(self) -> bool:
        """Trains, scores and draws what is missing; False if it was interrupted. The page is written at once, with what
        earlier calls have left, and again after every row."""
        self._refresh()
        for work, row in self.todo:
            if row.name in self.waiting and not self._make_backbone():
                return False
            was_done = work.is_done(row)
            if (result := work.run_row(row)) is None:
                self._write_page()
                return False
            if not was_done:
                self.machine.output.say(f"{row.name}: dev {result.dev}")
                self._refresh(work.own(row))
        return True

    def to_json(self) -> dict[str, Any]:
        drawn = [str(self.drawer.folder / f"{figure.name}.svg") for figure in FIGURES if self.drawer.svg(figure)]
        tables = {name: table.to_json() for name, table in self.tables.items()}
        return {"page": str(self.folder / PAGE), "figures": drawn, **tables}

    # ---------------------------------------------------------------- parts

    def _trainings(self, rows: Sequence[Row]) -> Iterator[tuple[Reproduction, Row]]:
        """The rows, each with its plan's work; of rows that share their runs, the first."""
        seen = set()
        for work in self.works.values():
            for row in rows:
                if any(row.name == each.name for each in work.plan.rows) and work.own(row) not in seen:
                    seen.add(work.own(row))
                    yield work, row

    def _make_backbone(self) -> bool:
        self.machine.output.say(f"{backbone.NAME}: training the backbone that {', '.join(sorted(self.waiting))} need")
        if not backbone.make(self.folder, self.machine):
            return False
        self.waiting.clear()
        return True

    def _trained(self) -> list[str]:
        work = self.works["table1"]
        return [row.name for row in planned(work.plan) if work.is_done(row)]

    def _refresh(self, trained: Path | None = None) -> None:
        """The tables, where they tell of the row in `trained`, the figures that are outdated, and the page."""
        self.machine.wait()  # all processes must find the same rows done
        for name, work in self.works.items():
            changed = [row.name for row in work.plan.rows if work.own(row) == trained]
            self.tables[name] = work.table(self.tables.get(name), changed=changed)
            self.machine.on_main(partial(self.tables[name].write, self.folder / name, name))
        if outdated := self.drawer.outdated(self._trained()):
            with suppress(MissingRequirement):  # the page says so
                self.drawer.draw(outdated)
        self._write_page()

    def _write_page(self) -> None:
        self.machine.on_main(lambda: files.write_text(self.folder / PAGE, page(self._shown())))

    def _shown(self) -> Shown:
        trained, measured = self._trained(), {r.row.name for table in self.tables.values() for r in table.results}
        absent = [(w, row) for w in self.works.values() for row in w.plan.rows if row.name not in measured]
        drawn = {figure.name: self.drawer.svg(figure) for figure in FIGURES}
        return Shown(
            table1=self.tables["table1"],
            ablations=self.tables["ablations"],
            absent={row.name: self._why_absent(work, row) for work, row in absent},
            figures={name: inlined(svg, name=name) for name, svg in drawn.items() if svg},
            undrawn={each.name: self.drawer.why_missing(each, trained) for each in FIGURES if not drawn[each.name]},
            origin=origin.of_page(self.command, self.data, self.machine),
            runs=[fact for name, work in self.works.items() for fact in origin.of_rows(work, self.tables[name])],
        )

    def _why_absent(self, work: Reproduction, row: Row) -> str:
        """Of a row without a result."""
        if (reason := self.lacking.get(row.name)) is not None:
            return str(InputError(reason.what, allowed=reason.allowed))  # not where it should be on this machine
        if not seeds.is_folder_of_seeds(own := work.own(row)):
            return "not trained yet"
        count = len(seeds.read(own).seeds)
        return f"{count - seeds.left(own, row.seeds)} of {count} seeds trained so far"


def _trained_elsewhere(ablations: Reproduction, table1: Reproduction) -> dict[str, Path]:
    """Where the runs of Table 1 are the measurement of an ablation, unless it was trained by itself before."""
    rows = {row.name: row for row in table1.plan.rows}
    return {
        row.name: table1.own(rows[MEASURED_AS[row.name]])
        for row in ablations.plan.rows
        if MEASURED_AS.get(row.name) in rows and not seeds.is_folder_of_seeds(ablations.own(row))
    }
