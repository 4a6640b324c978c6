"""The whole paper in one command: resumable, and one page with the published figures next to ours."""

from __future__ import annotations

import base64
import json
import re
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import typer
from click.testing import Result
from typer.testing import CliRunner

from narrow_screen import BROWSER, width_on_a_phone
from samples import write_corpus, yellow_circle_examples
from veriscene import models
from veriscene.cli import experiments
from veriscene.lab import plans, reproduce, seeds
from veriscene.training.log import Event, Step
from veriscene.training.spec import Spec
from veriscene.training.train import train
from veriscene.world import examples
from veriscene.worlds.nlvr.looks import WORLD

pytest.importorskip("matplotlib", reason="figures need matplotlib: pip install -e '.[dev]'")

TINY = ("model.embedding=4", "model.hidden=4", "model.item=4", "training.batch=16", "training.epochs=2")
SMALL = (*TINY, "model.joint=4", "model.mlp=4", "training.precision=tf32")
CHANGES = {"BiENC": TINY, "BiATT": SMALL, "BiATT-Pointer": SMALL, plans.PLAIN: SMALL, plans.LEARNED: SMALL}
UNTRAINABLE = "CNN-BiATT, ResNet-V2-101"
MEAN = plans.ABLATIONS.rows[1]
PLAN = replace(
    plans.PAPER,
    rows=tuple(
        replace(row, changes=(*row.changes, *CHANGES.get(row.name, SMALL if row == MEAN else ())))
        for row in plans.PAPER.rows
        if row.name in {"MaxEnt", UNTRAINABLE, MEAN.name, *CHANGES}
    ),
    compared=(
        *(("BiATT-Pointer", "MaxEnt"), ("BiATT", "BiENC")),
        *((plans.LEARNED, plans.PLAIN), (plans.PLAIN, MEAN.name)),
    ),
)
PAGE = "paper.html"


class Call:
    """The command in a folder, with tiny rows; counts the seeds that it trains."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder, self.trained = folder, list[str]()
        corpus = write_corpus(folder / "corpus", yellow_circle_examples(32), yellow_circle_examples(24, seed=1))
        examples.write(corpus / "test.json", yellow_circle_examples(12, seed=2), WORLD)
        patch.setitem(plans.PLANS, "paper", PLAN)
        patch.setenv("VERISCENE_CACHE", str(folder / "cache"))
        patch.setattr(seeds, "train", self.train)
        self.on_event: Callable[[Path, Event], None] = lambda run, event: None
        patch.setattr(reproduce, "EXAMPLES", dict.fromkeys(reproduce.EXAMPLES, 1))

    def train(self, spec: Spec, run: Path, **more: Any) -> Any:
        if not models.MODELS[spec.config.model.name].is_fitted:
            self.trained.append("/".join(run.parts[-2:]))
        return train(spec, run, **{**more, "on_event": partial(self.on_event, run)})

    def __call__(self, *options: str) -> Result:
        arguments = ["paper", "--data", str(self.folder / "corpus"), "--out", str(self.folder / "out"), *options]
        app = typer.Typer()
        app.command()(experiments.reproduce)
        self.trained.clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", ["veriscene", "reproduce", *arguments])
            return CliRunner().invoke(app, arguments)

    @property
    def page(self) -> str:
        return (self.folder / "out" / PAGE).read_text(encoding="utf-8")

    @property
    def lines(self) -> dict[str, list[str]]:
        """The cells of each row of the page's tables, by the row's name."""
        rows = ([" ".join(" ".join(cell.itertext()).split()) for cell in row] for row in _parsed(self.page).iter("tr"))
        return {cells[0]: cells[1:] for cells in rows if len(cells) > 2}

    @property
    def results(self) -> list[dict[str, Any]]:
        read: dict[str, Any] = json.loads((self.folder / "out" / "paper.json").read_text(encoding="utf-8"))
        return list(read["rows"])


def _parsed(html: str) -> ElementTree.Element:
    return ElementTree.fromstring(html.removeprefix("<!DOCTYPE html>"))


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Call]:
    with pytest.MonkeyPatch.context() as patch:
        yield Call(tmp_path_factory.mktemp("paper"), patch)


@pytest.fixture(scope="module")
def interrupted(call: Call) -> tuple[Result, str, list[str]]:
    """The first call, stopped by Ctrl-C in the second seed of BiATT, and its page."""

    def stop(run: Path, event: Event) -> None:
        if run.match("*biatt-embedding-4*/seed2") and isinstance(event, Step) and event.step == 2:
            signal.raise_signal(signal.SIGINT)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("veriscene.training.train.REFRESH_SECONDS", -1.0)
        patch.setattr(call, "on_event", stop)
        ended = call()
    return ended, call.page, list(call.trained)


@pytest.fixture(scope="module")
def finished(interrupted: object, call: Call) -> tuple[Result, str, list[str]]:
    """The same command again."""
    ended = call()
    return ended, call.page, list(call.trained)


def test_the_plan_comes_first_and_says_what_cannot_be_measured(call: Call) -> None:
    ended = call("--dry-run")
    assert ended.exit_code == 0 and not call.trained and not (call.folder / "out").exists()
    commands = dict(
        line.split(": veriscene train ") for line in ended.stderr.splitlines() if ": veriscene train " in line
    )
    # Two ablations are the rows of Table 1 themselves.
    assert len(commands) == 5 and {"MaxEnt", "BiENC", MEAN.name} < commands.keys()
    assert UNTRAINABLE in ended.stderr and "veriscene data backbone resnetv2-101" in ended.stderr


def test_ctrl_c_says_how_to_continue_and_leaves_a_page_of_what_there_is(
    interrupted: tuple[Result, str, list[str]],
) -> None:
    ended, html, _ = interrupted
    assert ended.exit_code == 130
    assert "veriscene reproduce paper --data" in ended.stderr.splitlines()[-1]
    text = " ".join("".join(_parsed(html).itertext()).split())
    assert f"2 of {len(PLAN.rows)} rows" in text and "0 of 5 figures" in text
    assert f"BiATT; {plans.PLAIN}: 1 of 3 seeds" in text  # the same runs


def test_a_dry_run_says_how_long_a_finished_seed_took(interrupted: tuple[Result, str, list[str]], call: Call) -> None:
    assert len(re.findall(r"^.*: seed1 took 0:\d\d on ", call("--dry-run").stderr, re.MULTILINE)) == 1


def test_the_same_command_continues_and_trains_no_seed_twice(
    interrupted: tuple[Result, str, list[str]], finished: tuple[Result, str, list[str]], call: Call
) -> None:
    ended, _, trained = finished
    assert ended.exit_code == 0, ended.exception
    assert ended.stdout == (call.folder / "out" / "paper.md").read_text(encoding="utf-8")
    before = interrupted[2]
    assert before[-1] == trained[0] and trained[0].endswith("/seed2")  # the interrupted one
    assert len(set(before + trained)) == len(before + trained) - 1 == 3 * 4  # rows with steps


def test_every_row_has_its_published_figures_next_to_those_on_disk(
    finished: tuple[Result, str, list[str]], call: Call
) -> None:
    lines = call.lines
    shown = {name.split(" 3 seeds")[0].split(" 1 seed,")[0]: cells for name, cells in lines.items()}
    published = {row.name: row for row in PLAN.rows}
    for result in call.results:
        row, cells = published[result["row"]], shown[result["row"]]
        for number, (split, (paper, here)) in enumerate({"dev": cells[:2], "test": cells[2:4]}.items()):
            assert paper == (f"{row.published[number]:.1f}" if row.published else "–")
            spread = result[split]["spread"]
            own = f"{100 * result[split]['accuracy']:.1f}"
            assert here == (own if spread is None else f"{own} ± {100 * spread:.1f}")
        assert cells[4] == (f"{row.unreleased:.1f}" if row.unreleased else "–")
        unseen = [result[split]["unseen"] for split in ("dev", "test")]
        assert cells[5:7] == ["–" if share is None else f"{100 * share:.1f}" for share in unseen]
        assert cells[7:] == [f"{100 * result[split]['consistency']:.1f}" for split in ("dev", "test")]
    assert [each["row"] for each in call.results] == [row.name for row in PLAN.rows if row.name != UNTRAINABLE]
    assert lines[f"{UNTRAINABLE} not measured here"] == ["–"] * 9
    assert lines["BiATT-Pointer minus MaxEnt"][::2][:2] == ["+6.6", "+6.2"]  # the paper's claim, on dev and Test-P
    assert lines[f"{plans.LEARNED} minus {plans.PLAIN}"][0] == "+2.0"


def test_the_page_is_one_file_with_its_figures_inside(finished: tuple[Result, str, list[str]], call: Call) -> None:
    root = _parsed(call.page)
    assert "http" not in call.page and "@import" not in call.page and "url(" not in call.page
    assert not list(root.iter("script")) and not list(root.iter("link")) and not any(e.get("href") for e in root.iter())
    drawn = sorted(path.stem for path in (call.folder / "out" / "figures").glob("*.svg") if path.stat().st_size)
    inside = {str(e.get("class")).split()[-1]: e for e in root.iter("div") if "figure" in str(e.get("class")).split()}
    assert sorted(inside) == drawn and {"order", "attention", "errors"} <= set(drawn)
    for name, ((picture,)) in inside.items():
        assert "circle" in str(picture.get("alt"))  # the statements
        kind, _, content = str(picture.get("src")).partition(",")
        assert kind == "data:image/svg+xml;base64"
        assert base64.b64decode(content) == (call.folder / "out" / "figures" / f"{name}.svg").read_bytes()
    facts = dict([" ".join(cell.itertext()) for cell in row] for row in root.iter("tr") if len(row) == 2)
    assert facts["command"].startswith("veriscene reproduce paper --data") and "torch" in facts["environment"]
    assert facts.keys() >= {"commit", "machine", "corpus", "page written", "MaxEnt", MEAN.name}


def test_a_third_call_repeats_nothing_and_writes_the_same_page(
    finished: tuple[Result, str, list[str]], call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seeds, "train", lambda *_, **__: pytest.fail("trained again"))
    monkeypatch.setattr(seeds, "probabilities", lambda *_: pytest.fail("judged again"))
    monkeypatch.setattr(reproduce.Reproduction, "_draw_figure", lambda *_: pytest.fail("drawn again"))
    ended = call("--json")
    assert ended.exit_code == 0, ended.exception
    assert json.loads(ended.stdout)["rows"] == call.results

    def steady(html: str) -> str:
        return re.sub(r"page written</th><td>[^<]*", "", html.replace(" --json", ""))

    assert steady(call.page) == steady(finished[1])


def test_without_matplotlib_the_page_says_how_to_get_the_figures(
    finished: tuple[Result, str, list[str]], call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = call.page
    drawn = call.folder / "out" / "figures"
    kept = drawn.rename(drawn.with_name("kept"))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "veriscene.report.figures", raising=False)  # which has imported it
    try:
        assert call().exit_code == 0
        text = "".join(_parsed(call.page).itertext())
        assert "0 of 5 figures" in " ".join(text.split()) and "pip install 'veriscene[plot]'" in text
    finally:
        kept.rename(drawn)
        (call.folder / "out" / PAGE).write_text(before, encoding="utf-8")


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
def test_the_page_fits_a_400_pixel_screen(finished: tuple[Result, str, list[str]], call: Call, tmp_path: Path) -> None:
    assert width_on_a_phone(call.page, tmp_path) <= 400
