"""A plan: every row is trained once, by the protocol, and compared in one table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from samples import write_corpus, yellow_circle_examples
from veriscene import worlds
from veriscene.cli import experiments
from veriscene.config import changes_between
from veriscene.data.encoder import ItemOrder
from veriscene.errors import InputError, MissingRequirement
from veriscene.lab import plans, seeds
from veriscene.lab.reproduce import Reproduction, planned
from veriscene.lab.table import Compared, Result, Table
from veriscene.metrics import accuracy as metrics
from veriscene.metrics.accuracy import Difference, Score, Summary
from veriscene.models import load_preset
from veriscene.models.layers.pooling import POOLINGS
from veriscene.training.distributed import Machine
from veriscene.training.spec import Spec
from veriscene.training.train import train
from veriscene.world import examples
from veriscene.world.corpus import split_file
from veriscene.worlds.nlvr import synthetic
from veriscene.worlds.nlvr.looks import WORLD

TINY = ["training.batch=16", "training.epochs=2", "training.learning_rate=0.02", "training.evaluate_every=4"]
NAMES = ("MaxEnt", "ImageFeat+RNN")


def reproduction(
    corpus: Path, folder: Path, changes: Sequence[str] = TINY, plan: plans.Plan = plans.TABLE1
) -> Reproduction:
    return Reproduction(plan, changes, corpus, folder, Machine())


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = write_corpus(tmp_path / "corpus", yellow_circle_examples(64), yellow_circle_examples(40, seed=1))
    examples.write(folder / "test.json", yellow_circle_examples(20, seed=2), WORLD)
    return folder


def test_every_row_is_trained_and_judged_once(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plans.Plan("two rows", plans.TABLE1.rows, compared=(NAMES, ("BiATT", "BiENC")))
    work = reproduction(corpus, tmp_path / "table", plan=plan)

    def run_row() -> list[Result]:
        results = [work.run_row(row) for row in planned(plan, NAMES)]
        return [result for result in results if result is not None]

    def left(*, seeds: int = 0) -> list[str]:
        return [row.name for row in planned(plan, NAMES, seeds=seeds) if not work.is_done(row)]

    assert left() == list(NAMES)
    first = run_row()
    assert left() == [] and left(seeds=4) == [NAMES[1]]
    monkeypatch.setattr(seeds, "train", lambda *_, **__: pytest.fail("trained again"))
    monkeypatch.setattr(seeds, "probabilities", lambda *_: pytest.fail("judged again"))
    again = run_row()
    assert again == first and [len(result.dev.scores) for result in first] == [1, 3]
    # MaxEnt has no steps, so `train` would refuse these settings for it.
    assert [result.command.count("--set") for result in first] == [0, len(TINY)]
    examples = worlds.read(corpus / "test.json")
    for result in first:
        assert result.test is not None
        own = tmp_path / "table" / result.row.folder
        scores = [metrics.score(examples, verdicts).accuracy for verdicts in seeds.verdicts(own, "test")]
        assert [score.accuracy for score in result.test.scores] == scores
    compared = work.table().compared
    assert [(pair.first, pair.second) for pair in compared] == [NAMES]
    gaps = {name: gap.mean for name, gap in compared[0].differences.items()}
    on_dev, on_test = (one.accuracy - other.accuracy for one, other in zip(*map(_splits, first), strict=True))
    sizes = [len(worlds.read(split_file(corpus, split))) for split in ("dev", "test")]
    both = (sizes[0] * on_dev + sizes[1] * on_test) / sum(sizes)
    assert gaps == pytest.approx({"dev": on_dev, "test": on_test, "both": both})
    work.write("table1", command="veriscene")
    table = (tmp_path / "table" / "table1.md").read_text(encoding="utf-8")
    assert "| MaxEnt minus ImageFeat+RNN | " in table and "| dev | Test-P | both |" in table
    assert f"| MaxEnt | 68.0 / 67.7 | {100 * first[0].dev.accuracy:.1f} |" in table
    record = json.loads((tmp_path / "table" / "table1.json").read_text(encoding="utf-8"))
    assert [(row["row"], row["supervision"]) for row in record["rows"]] == [(name, "labels") for name in NAMES]
    for row, result in zip(record["rows"], first, strict=True):
        kept = seeds.read_kept((tmp_path / "table" / row["predictions"]).read_bytes())
        own = tmp_path / "table" / result.row.folder
        assert kept == {split: seeds.verdicts(own, split) for split in ("dev", "test")}
        assert row["dev"]["unseen"] == result.dev.unseen
    with pytest.raises(InputError):
        replace(work, changes=["training.batch=8"]).run_row(planned(plan, NAMES)[1])
    with pytest.raises(InputError):
        planned(plans.TABLE1, ["CNN+LSTM"])


def test_programs_teach_the_rows_that_need_them_and_choices_are_made_on_dev(corpus: Path, tmp_path: Path) -> None:
    taught, plain = plans.Row("taught", "biatt", programs=True), plans.Row("plain", "bienc")
    plan = plans.Plan("two rows", (taught, plain), final=False)
    sizes = ["model.hidden=4", "teacher.scenes=8", "teacher.workers=1", "data.minimum_count=1"]
    without = reproduction(corpus, tmp_path / "runs", [*TINY, *sizes], plan)
    assert list(without.lacking(plan.rows)) == ["taught"]
    with pytest.raises(MissingRequirement):
        without.check([taught])
    programs = tmp_path / "programs.jsonl"
    line = {"sentence": "There is a yellow circle.", "program": "exist(filter_obj(all_items, lambda x: is_circle(x)))"}
    programs.write_text(json.dumps(line) + "\n", encoding="utf-8")
    work = replace(without, programs=[programs])
    work.check(plan.rows)
    results = [work.run_row(row) for row in plan.rows]
    assert [result and result.supervision for result in results] == ["programs", "labels"]
    assert ["--teacher programs.jsonl" in result.command for result in results if result] == [True, False]
    assert [result and result.test for result in results] == [None, None], "there is a test split"
    other = programs.rename(tmp_path / "other.jsonl")
    with pytest.raises(InputError):
        replace(without, programs=[other]).check(plan.rows)
    with pytest.raises(InputError):
        experiments.reproduce("table1", corpus, teacher=[other])
    with pytest.raises(MissingRequirement):
        experiments.reproduce("spatial", corpus)
    with pytest.raises(InputError):
        experiments.reproduce("table1", corpus, tmp_path / "many", [NAMES[1]], seeds=5000, dry_run=True)


def test_more_seeds_are_added_to_existing_ones(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained: list[int] = []

    def counted(spec: Spec, *given: Any, **named: Any) -> Any:
        trained.append(spec.config.training.seed)
        return train(spec, *given, **named)

    monkeypatch.setattr(seeds, "train", counted)
    results, work = [], reproduction(corpus, tmp_path)
    for count in (0, 5, 4):
        fitted, row = planned(plans.TABLE1, NAMES, seeds=count)
        assert (fitted.seeds, row.seeds) == (1, max(3, count))  # MaxEnt has one optimum, whatever the seed
        assert work.is_done(row) is (count == 4)
        result = work.run_row(row)
        assert result is not None and work.is_done(row)
        results.append(result)
    three, five, still_five = (result.dev.scores for result in results)
    assert five[:3] == three and still_five == five and trained == [1, 2, 3, 4, 5]
    assert "--seeds 5" in results[2].command


def test_the_command_of_a_row_reproduces_its_configuration(corpus: Path, tmp_path: Path) -> None:
    fitted, row = planned(plans.TABLE1, NAMES)
    changes = {
        row: [*TINY, "training.seed=4", "data.word_dropout=0.1", "training.clip=5.0"],
        fitted: ["model.penalty=5.0"],
    }
    for each, own in changes.items():
        reproduction(corpus, tmp_path, own).run_row(each)
    table = reproduction(corpus, tmp_path).table()
    commands = {result.row.name: result.command for result in table.results}
    for each, own in changes.items():
        start, *given = commands[each.name].split(" --set ")
        assert start == f"veriscene train {each.preset} --data NLVR --seeds {each.seeds}"
        assert load_preset(str(each.preset), given) == load_preset(str(each.preset), own)


def test_the_table_is_written_after_every_row(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[list[str]] = []

    def write(self: Reproduction, name: str, *, command: str) -> None:
        write_files(self, name, command=command)
        written.append([row["row"] for row in json.loads((self.folder / f"{name}.json").read_text())["rows"]])

    write_files = Reproduction.write
    monkeypatch.setattr(Reproduction, "write", write)
    app = typer.Typer()
    app.command()(experiments.reproduce)
    chosen = [part for name in NAMES for part in ("--row", name)]
    settings = [part for change in TINY for part in ("--set", change)]
    command = ["table1", "--data", str(corpus), "--out", str(tmp_path / "table"), *chosen, *settings]
    first = CliRunner().invoke(app, command)
    assert written == [[NAMES[0]], [*NAMES]]
    for name in ("table1.md", "table1.json"):
        (tmp_path / "table" / name).unlink()
    again = CliRunner().invoke(app, command)
    assert written[2:] == [[*NAMES]] and again.stdout == first.stdout
    assert (tmp_path / "table" / "table1.md").read_text(encoding="utf-8") == first.stdout
    assert "over 1 seed," in first.stderr and "over 3 seeds," in first.stderr


def test_rows_that_cannot_be_compared_are_refused_before_any_is_trained(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, row = planned(plans.TABLE1, NAMES)
    reproduction(corpus, tmp_path).run_row(row)
    other = write_corpus(tmp_path / "other", yellow_circle_examples(48), yellow_circle_examples(40, seed=1))
    monkeypatch.setattr(seeds, "train", lambda *_, **__: pytest.fail("trained"))
    app = typer.Typer()
    app.command()(experiments.reproduce)

    def refused_at(data: Path, changes: list[str], *names: str) -> str | None:
        chosen = [part for name in names for part in ("--row", name)]
        settings = [part for change in changes for part in ("--set", change)]
        arguments = ["table1", "--data", str(data), "--out", str(tmp_path), *chosen, *settings]
        ended = CliRunner().invoke(app, arguments)
        assert isinstance(ended.exception, InputError), ended.exception
        return str(ended.exception.where)

    own = str(tmp_path / row.folder)
    assert refused_at(other, TINY, *NAMES) == own
    assert refused_at(other, TINY, NAMES[0]) == own  # the table would compare them
    assert refused_at(corpus, [*TINY, "training.batch=8"], *NAMES) == own
    reproduction(corpus, tmp_path, ["training.batch=8"]).check([])  # no row is named
    begun_by_hand = tmp_path / "bienc" / "notes.txt"
    begun_by_hand.parent.mkdir()
    begun_by_hand.write_text("mine")
    assert refused_at(corpus, TINY, NAMES[0], "BiENC") == str(begun_by_hand.parent)
    examples.write(split_file(corpus, "train"), yellow_circle_examples(48), WORLD)
    assert refused_at(corpus, TINY, NAMES[0]) == own


@pytest.mark.parametrize(
    ("plan", "change", "is_common"),
    [
        (plans.TAUGHT_ORDERS, "data.order=file", False),
        (plans.TAUGHT_ORDERS, "training.batch=8", True),
        (plans.SPATIAL, "training.batch=8", False),  # a row has its own
        (plans.SPATIAL, "training.epochs=1", True),  # all rows have the same
        (plans.TABLE1, "model.dropout=0.1", True),
    ],
)
def test_a_change_that_would_undo_what_tells_rows_apart_is_refused(
    plan: plans.Plan, change: str, is_common: bool, corpus: Path, tmp_path: Path
) -> None:
    key = change.partition("=")[0]
    with nullcontext() if is_common else pytest.raises(InputError) as caught:
        reproduction(corpus, tmp_path, [change], plan).check([])
    assert caught is None or caught.value.where == f"--set {key}"


def _splits(result: Result) -> tuple[Summary, Summary]:
    assert result.test is not None
    return result.dev, result.test


def test_every_row_of_every_plan_can_be_configured(corpus: Path, tmp_path: Path) -> None:
    for plan in plans.PLANS.values():
        rows, work = planned(plan, []), reproduction(corpus, tmp_path / "runs", [], plan)
        lacking = work.lacking(rows)
        for row in (row for row in rows if row.name in lacking):
            assert row.input == "pixels" or row.programs
            assert ("--teacher" if row.programs else "veriscene") in str(
                lacking[row.name]
            )  # how to get what is missing
        work.check([row for row in rows if row.name not in lacking])
        assert len({row.name for row in rows}) == len(rows)
        assert {name for pair in plan.compared for name in pair} <= {row.name for row in rows}
        drawn = {name for figure in plan.figures for needed in figure.ours.values() for name in needed}
        assert drawn <= {row.name for row in rows}


def test_rows_of_all_plans_share_a_folder_exactly_if_they_are_the_same_runs() -> None:
    by_folder: dict[str, object] = {}
    for plan in plans.PLANS.values():
        for row in plan.rows:
            known = by_folder.setdefault(row.folder, (load_preset(row.preset, row.changes), row.initial, row.programs))
            assert known == (load_preset(row.preset, row.changes), row.initial, row.programs)
    assert [row.folder for row in plans.ABLATIONS.rows if row.name in (plans.PLAIN, plans.LEARNED)] == [
        row.folder for row in plans.TABLE1.rows if row.name in ("BiATT", "BiATT-Pointer")
    ]


@pytest.mark.parametrize(
    "row", [row for plan in plans.PLANS.values() for row in plan.rows if row.changes], ids=lambda row: row.name
)
def test_settings_written_as_changes_are_read_as_the_same_settings(row: plans.Row) -> None:
    usual, changed = load_preset(row.preset), load_preset(row.preset, row.changes)
    assert load_preset(row.preset, changes_between(usual, changed)) == changed


def test_the_ablations_cover_every_pooling_and_every_order() -> None:
    work = reproduction(Path(), Path(), [], plans.ABLATIONS)
    settings = [work.configuration(row) for row in plans.ABLATIONS.rows]
    assert {config.model.pooling for config in settings} == set(POOLINGS)
    assert {config.data.order for config in settings} == {order.value for order in ItemOrder}
    # Every row that differs from the paper's choice in one setting is compared with it.
    beside = {(plans.PLAIN, row.name) for row in plans.ABLATIONS.rows if row.preset == "biatt"} - {(plans.PLAIN,) * 2}
    orders = {(plans.LEARNED, row.name) for row in plans.ABLATIONS.rows if "BiATT, pooling max" in row.name}
    assert beside | orders == set(plans.ABLATIONS.compared)


def test_the_table_marks_differences_whose_interval_excludes_zero() -> None:
    row, scores = plans.TABLE1.rows[0], Summary((Score(1, 0.5, 0.25, 0.125),))
    gaps = {"dev": Difference(0.02, (-0.003, 0.043)), "test": Difference(-0.03, (-0.05, -0.01))}
    compared = [Compared("A", "B", gaps)]
    results = [Result(row, scores, None, "labels", "veriscene train maxent")]
    lines = Table(plans.TABLE1, results, compared).markdown().splitlines()
    assert "| MaxEnt | 68.0 / 67.7 | 50.0 | - | 12.5 / - | 25.0 / - | 1 | 50.0 |" in lines
    assert "| first row minus second | dev | Test-P |" in lines
    assert "| A minus B | +2.0 (-0.3 to +4.3) | **-3.0 (-5.0 to -1.0)** |" in lines
    record = Table(plans.TABLE1, results, compared).to_json()
    assert record["differences"] == [
        {
            "first": "A",
            "second": "B",
            "dev": {"mean": 0.02, "interval": [-0.003, 0.043]},
            "test": {"mean": -0.03, "interval": [-0.05, -0.01]},
        }
    ]


def test_rows_trained_on_a_synthetic_corpus_say_so(tmp_path: Path) -> None:
    synthetic.write(tmp_path / "corpus", synthetic.build(20, seed=1, level="simple"))
    (row,) = planned(plans.TABLE1, NAMES[:1])
    work = reproduction(tmp_path / "corpus", tmp_path, [])
    result = work.run_row(row)
    assert result is not None and result.supervision == "synthetic"
    summary = json.loads((tmp_path / row.folder / "summary.json").read_text(encoding="utf-8"))
    assert summary["supervision"] == "synthetic"
    assert [line["supervision"] for line in work.table().to_json()["rows"]] == ["synthetic"]


def test_without_a_test_split_rows_are_compared_on_dev(corpus: Path, tmp_path: Path) -> None:
    (corpus / "test.json").unlink()
    plan = plans.Plan("two rows", plans.TABLE1.rows, compared=(NAMES,))
    work = reproduction(corpus, tmp_path, plan=plan)
    for row in planned(plan, NAMES):
        work.run_row(row)
    (pair,) = work.table().compared
    assert list(pair.differences) == ["dev"]


def test_a_bad_test_split_is_refused_before_training(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (corpus / "test.json").write_text("{", encoding="utf-8")
    monkeypatch.setattr(seeds, "train", lambda *_, **__: pytest.fail("trained"))
    app = typer.Typer()
    app.command()(experiments.reproduce)
    command = ["table1", "--data", str(corpus), "--out", str(tmp_path / "table"), "--row", NAMES[0]]
    refused = CliRunner().invoke(app, command)
    assert isinstance(refused.exception, InputError) and "test.json" in str(refused.exception)
    assert not (tmp_path / "table").exists()
