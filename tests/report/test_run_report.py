"""Reports of finished runs: scored on dev, alone or in pairs; one clear line for what cannot be compared."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest
from accelerate import Accelerator

from samples import fresh_checkpoint, write_corpus, yellow_circle_examples
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.judge.checkpoint import TorchJudge
from veriscene.judge.evaluate import judged
from veriscene.metrics import accuracy as metrics
from veriscene.report.run import report_run
from veriscene.training.distributed import Machine
from veriscene.training.spec import Record, Spec
from veriscene.world.examples import Example, write
from veriscene.worlds.nlvr.looks import WORLD

EXAMPLES = yellow_circle_examples(30)


def make_run(folder: Path, corpus: Path, model: str = "biatt-pointer") -> Path:
    """A finished run on a corpus that is not synthetic."""
    checkpoint = fresh_checkpoint(model, EXAMPLES)
    checkpoints.save(folder / "best", checkpoint)
    replace(Record.new(Spec(checkpoint.config, corpus=corpus), Machine()), supervision="labels").write(folder)
    return folder


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A corpus whose test split must not be opened."""
    folder = write_corpus(tmp_path / "corpus", EXAMPLES, EXAMPLES)
    (folder / "test").mkdir()
    (folder / "test" / "test.json").write_text("not to be read")
    return folder


def test_a_run_is_scored_on_dev_as_evaluate_does(corpus: Path, tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", corpus)
    report = report_run(run, Accelerator(cpu=True))
    verdicts = judged(TorchJudge(checkpoints.load(run)), EXAMPLES)
    scores = metrics.score(EXAMPLES, {each.example.identifier: each.verdict for each in verdicts})
    assert report.scores == scores and report.report == run / "report.html"
    html = report.report.read_text()
    assert f"{scores.accuracy:.1%}" in html and "dev split" in html and "arrows" in html
    assert f"{sum(not each.is_right for each in verdicts)} of {len(EXAMPLES)}" in html


def test_two_runs_share_a_page_and_a_run_does_not_differ_from_itself(corpus: Path, tmp_path: Path) -> None:
    run, other = make_run(tmp_path / "a/run", corpus), make_run(tmp_path / "b/run", corpus, "relation-net")
    report = report_run(run, Accelerator(cpu=True), against=other)
    html = report.report.read_text()
    assert report.report == run / "comparison.html" and str(run) in html and str(other) in html  # both are named "run"
    html = report_run(run, Accelerator(cpu=True), against=run, out=tmp_path / "same.html").report.read_text()
    assert "+0.0 points" in html and "p = 1." in html


def test_runs_on_different_examples_cannot_be_compared(corpus: Path, tmp_path: Path) -> None:
    shuffled = random.Random(0).sample(EXAMPLES, len(EXAMPLES))
    other = write_corpus(tmp_path / "other", EXAMPLES, shuffled)
    run, against = make_run(tmp_path / "one", corpus), make_run(tmp_path / "two", other)
    with pytest.raises(InputError):
        report_run(run, Accelerator(cpu=True), against=against)
    assert not (run / "comparison.html").exists()


def test_programs_are_shown_with_the_mistakes_and_a_bad_one_is_named_by_its_line(corpus: Path, tmp_path: Path) -> None:
    run, path = make_run(tmp_path / "run", corpus), tmp_path / "programs.jsonl"
    lines = [
        {"statement": statement, "program": "exist(filter_obj(all_items, lambda x: is_circle(x)))"}
        for statement in sorted({example.statement for example in EXAMPLES})
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    html = report_run(run, Accelerator(cpu=True), programs=path).report.read_text()
    (suspicious,) = re.findall(r"label or program</td><td class=\"n\">(\d+)", html)
    wrong = [e for e in judged(TorchJudge(checkpoints.load(run)), EXAMPLES) if not e.is_right]
    has_circle = [any(i["shape"] == "circle" for i in e.example.scene.items) != e.example.label for e in wrong]
    assert int(suspicious) == sum(has_circle) and "<code>exist(" in html
    with pytest.raises(InputError):
        report_run(run, Accelerator(cpu=True), programs=path, out=path)
    assert len(path.read_text().splitlines()) == len(lines)
    path.write_text(json.dumps(lines[0]) + "\n" + json.dumps({**lines[1], "program": "open('x')"}) + "\n")
    with pytest.raises(InputError):
        report_run(run, Accelerator(cpu=True), programs=path)


def test_a_report_of_unlabelled_dev_examples_is_refused(tmp_path: Path) -> None:
    folder = write_corpus(tmp_path / "corpus", EXAMPLES, [])
    write(folder / "dev" / "dev.json", [Example("0-0", "A circle.", EXAMPLES[0].scene)], WORLD)
    with pytest.raises(InputError):
        report_run(make_run(tmp_path / "run", folder), Accelerator(cpu=True))
