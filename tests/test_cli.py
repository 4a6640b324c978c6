"""The command line: bad input is one clear line and exit status 1, wrong usage 2, and no file is harmed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from samples import write_corpus, yellow_circle_examples
from veriscene import models
from veriscene.config import Config, ModelConfig
from veriscene.scenes import nlvr
from veriscene.scenes.scene import scene_to_json
from veriscene.tensors.vocabulary import Vocabulary
from veriscene.training import checkpoint as checkpoints
from veriscene.training.checkpoint import Checkpoint

EXAMPLES = yellow_circle_examples(10)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small corpus, a checkpoint and a scene."""
    folder = tmp_path_factory.mktemp("place")
    write_corpus(folder / "corpus", EXAMPLES, EXAMPLES)
    torch.manual_seed(1)
    sizes = ModelConfig(name="biatt-pointer", embedding=4, hidden=3, item=4, joint=6, mlp=5)
    vocabulary = Vocabulary.of((example.statement for example in EXAMPLES), minimum_count=1)
    model = models.build(sizes, vocabulary=vocabulary)
    checkpoints.save(folder / "model", Checkpoint(model, Config(model=sizes), vocabulary, {}))
    counts = ModelConfig(name="imagefeat-rnn", embedding=4, hidden=3, mlp=3)
    model = models.build(counts, vocabulary=vocabulary)
    checkpoints.save(folder / "counts", Checkpoint(model, Config(model=counts), vocabulary, {}))
    pairs = ModelConfig(name="relation-net", embedding=4, hidden=3, joint=6, mlp=5)
    model = models.build(pairs, vocabulary=vocabulary)
    checkpoints.save(folder / "pairs", Checkpoint(model, Config(model=pairs), vocabulary, {}))
    (folder / "scene.json").write_text(json.dumps(scene_to_json(EXAMPLES[0].scene)))
    (folder / "broken.json").write_text((folder / "corpus/dev/dev.json").read_text() + '{"sentence": "The')
    nlvr.write(folder / "unlabelled.json", [nlvr.Example(e.identifier, e.statement, e.scene) for e in EXAMPLES])
    (folder / "short.csv").write_text("0-0,true\n")
    (folder / "long.csv").write_text("".join(f"{name},true\n" for name in (*(e.identifier for e in EXAMPLES), "99-0")))
    half = [EXAMPLES[0], nlvr.Example(EXAMPLES[1].identifier, EXAMPLES[1].statement, EXAMPLES[1].scene)]
    nlvr.write(folder / "half.json", half)
    write_corpus(folder / "half", half, EXAMPLES)
    return folder


def veriscene(*arguments: str, cwd: Path, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "veriscene", *arguments]
    environment = {**os.environ, "COLUMNS": "200"}
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, input=stdin, env=environment, timeout=120)


BAD_INPUT = {
    "no such file": ("evaluate model none.json", "none.json: cannot be read"),
    "cut off": ("evaluate model broken.json", "broken.json:11: not JSON: the line is cut off"),
    "no model": ("evaluate nothing corpus/dev/dev.json", "nothing: no such model"),
    "no labels": ("evaluate model unlabelled.json", "no labels"),
    "missing predictions": (
        "score corpus/dev/dev.json short.csv",
        "short.csv: 9 identifiers have no prediction; every example must have one"
        " (the first: '0-1', corpus/dev/dev.json:2)",
    ),
    "unknown predictions": (
        "score corpus/dev/dev.json long.csv",
        "long.csv: 1 identifiers are predicted but not among",
    ),
    "some unlabelled": ("evaluate model half.json", "(the first: '0-1', half.json:2)"),
    "unlabelled corpus": ("train biatt --data half", "half/train/train.json:2: '0-1' has none"),
    "preset": ("train enormous", "unknown preset 'enormous'; choose from biatt,"),
    "no corpus": ("train biatt --data model", "has no train split"),
    "setting": ("train biatt --set model.layers=3", "unknown key model.layers"),
    "value": ("train biatt --set training.batch=many", "training.batch='many' must be a whole number"),
    "range": ("train biatt --set model.dropout=1.5", "must be at least 0 and below 1"),
    "too much": ("train biatt --seed 99999999999999999999", "training.seed=99999999999999999999 must be from 0 to"),
    "below a file": ("data synth short.csv/sub --statements 20", "short.csv/sub"),
    "no run": ("train --resume model", "not a run"),
    "scene": ("predict model --statement x --scene corpus/dev/dev.json", "dev.json: not JSON"),
    "check": ("data check broken.json", ""),
    "stats of nothing": ("data stats model", "holds no corpus"),
    "folder in use": ("data synth corpus --statements 20", "is there already"),
    "level": ("data synth out --level hard", "unknown level 'hard'"),
    "report": ("report model", "not a run"),
    "setting without effect": ("train bienc --set model.joint=3", "model.joint has no effect on bienc"),
    "setting of steps": (
        "train maxent --data corpus --set training.epochs=3",
        "training.epochs has no effect on maxent",
    ),
    "policy of none": ("train biatt --set training.policy_weight=1", "training.policy_weight has no effect on biatt"),
    "order of counts": ("train mlp --data corpus --set data.order=file", "data.order has no effect on mlp"),
    "input as output": (
        "evaluate model corpus/dev/dev.json --predictions corpus/dev/dev.json",
        "is the file that is judged",
    ),
    "many seeds": ("train bienc --seeds 3000000", "at most 1,000"),
    "last seed": ("train bienc --seeds 2 --seed 2147483648", "training.seed=2147483649 must be from 0 to"),
    "no seeds": ("train bienc --seeds 0", "at least one seed"),
    "recolor": ("train bienc --data corpus --set data.recolor=true", "does not teach the word"),
    "export": ("export counts counts.onnx", "cannot be exported"),
    "plan": ("reproduce table2 --data corpus", "unknown plan 'table2'; choose from table1, ablations"),
    "row": ("reproduce table1 --data corpus --row CNN", "unknown row 'CNN'; choose from MaxEnt,"),
    "row's setting": ("reproduce table1 --data corpus --set training.batch=0", "training.batch=0 must be from 1"),
    "search without effect": ("tune bienc --data corpus --space training.policy_weight=0:1", "no effect on bienc"),
    "search": ("tune biatt --data corpus --space training.batch=9:1", "must be below the upper end"),
}


@pytest.mark.parametrize("name", BAD_INPUT)
def test_bad_input_is_one_clear_line(name: str, place: Path) -> None:
    command, message = BAD_INPUT[name]
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    done = veriscene(*command.split(), cwd=place)
    assert done.returncode == 1, done.stderr
    assert message in done.stderr and "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 1
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before


def test_a_library_that_is_missing_is_missed_before_the_corpus_is_read(place: Path) -> None:
    script = "import sys; sys.modules['sklearn'] = None; from veriscene.cli import main; main()"
    command = [sys.executable, "-c", script, "train", "maxent", "--data", "nowhere"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=place, timeout=120)
    assert done.returncode == 1
    assert done.stderr.startswith("veriscene: training maxent needs scikit-learn") and done.stderr.count("\n") == 1
    assert "pip install 'veriscene[maxent]'" in done.stderr


@pytest.mark.parametrize(
    "command", ["train", "predict model --statement x", "train biatt --resume model", "evaluate model", "fly"]
)
def test_wrong_usage_is_status_two(command: str, place: Path) -> None:
    done = veriscene(*command.split(), cwd=place)
    assert done.returncode == 2 and "Traceback" not in done.stderr


def test_evaluate_prints_one_json_object_and_writes_the_official_csv(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "p.csv"
    done = veriscene("evaluate", "model", "corpus/dev/dev.json", "--json", "--predictions", str(out), cwd=place)
    scores = json.loads(done.stdout)
    assert scores["examples"] == len(EXAMPLES)
    assert all(0 <= scores[name] <= 1 for name in ("accuracy", "consistency"))
    assert scores["interval"][0] <= scores["accuracy"] <= scores["interval"][1]
    again = veriscene("score", "corpus/dev/dev.json", str(out), "--json", cwd=place)
    assert json.loads(again.stdout) == scores


def test_without_labels_the_json_object_has_the_same_keys_and_no_scores(place: Path, tmp_path: Path) -> None:
    arguments = ("--json", "--predictions", str(tmp_path / "p.csv"))
    scored = veriscene("evaluate", "model", "corpus/dev/dev.json", *arguments, cwd=place)
    done = veriscene("evaluate", "model", "unlabelled.json", *arguments, cwd=place)
    record = json.loads(done.stdout)
    assert done.returncode == 0 and "no labels" in done.stderr
    assert record.keys() == json.loads(scored.stdout).keys()
    assert record["accuracy"] is record["interval"] is record["consistency"] is None and record["breakdown"] == []
    assert (record["examples"], record["presentations"]) == (10, 3)
    assert len(nlvr.read_predictions(tmp_path / "p.csv")) == 10


def test_predict_on_a_scene_and_on_lines_agree(place: Path) -> None:
    statement = EXAMPLES[0].statement
    one = veriscene("predict", "model", "--statement", statement, "--scene", "scene.json", "--json", cwd=place)
    lines = (place / "corpus/dev/dev.json").read_text()
    many = veriscene("predict", "model", cwd=place, stdin=lines)
    answers = [json.loads(line) for line in many.stdout.splitlines()]
    assert [answer.pop("identifier") for answer in answers] == [example.identifier for example in EXAMPLES]
    assert json.loads(one.stdout).keys() == {"probability", "verdict", "per_box", "order"}
    assert json.loads(one.stdout)["probability"] == pytest.approx(answers[0]["probability"], abs=1e-6)
    half = veriscene("predict", "model", cwd=place, stdin=lines + "nonsense\n")
    assert half.returncode == 1 and len(half.stdout.splitlines()) == len(EXAMPLES)
    assert half.stderr.strip() == "veriscene: standard input, line 11: not JSON; each line must be one JSON object"


@pytest.mark.parametrize(("model", "reads_in_order"), [("model", True), ("pairs", False)])
def test_predict_tells_the_order_of_reading_if_there_is_one(place: Path, model: str, reads_in_order: bool) -> None:
    told = veriscene("predict", model, "--statement", "There is a circle.", "--scene", "scene.json", cwd=place)
    lines = told.stdout.splitlines()
    assert told.returncode == 0 and len(lines) == 4
    assert all(("items read in the order" in line) is reads_in_order for line in lines[1:])


def test_a_closed_standard_input_is_one_clear_line(place: Path) -> None:
    command = f"{sys.executable} -m veriscene predict model <&-"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=place, timeout=120)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("veriscene: standard input is closed") and done.stderr.count("\n") == 1


def test_the_reader_of_a_pipe_may_leave(place: Path) -> None:
    command = f"{sys.executable} -m veriscene predict model < corpus/dev/dev.json | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=place, timeout=120)
    assert len(done.stdout.splitlines()) == 1 and done.stderr == ""


@pytest.mark.parametrize(("file", "status"), [("corpus/dev/dev.json", 0), ("none.json", 1)])
def test_one_of_several_processes_ends_with_its_status_and_at_once(place: Path, file: str, status: int) -> None:
    """Before the interpreter takes itself down: there the threads of a group may abort the process."""
    script = (
        "import atexit, torch.distributed as group; from veriscene.cli import main;"
        "group.init_process_group('gloo', store=group.HashStore(), rank=0, world_size=1);"
        "atexit.register(print, 'taken down'); main()"
    )
    command = [sys.executable, "-c", script, "evaluate", "model", file, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=place, timeout=120)
    assert done.returncode == status
    assert "taken down" not in done.stdout
    assert ("accuracy" in done.stdout) is (status == 0)
    assert done.stderr.count("veriscene:") == status


def test_check_and_stats_tell_what_is_there(place: Path) -> None:
    check = veriscene("data", "check", "corpus/dev/dev.json", "broken.json", cwd=place)
    assert "broken.json:11: not JSON" in check.stdout and "10 sound examples, 1 problems" in check.stdout
    stats = veriscene("data", "stats", "corpus", "--json", cwd=place)
    facts = json.loads(stats.stdout)["corpus/dev/dev.json"]
    assert facts["examples"] == 10 and facts["pictures"]["scatter"] == 10


def test_synth_train_report_go_together(tmp_path: Path) -> None:
    made = veriscene("data", "synth", "corpus", "--statements", "40", "--level", "simple", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    small = [f"model.{name}=6" for name in ("embedding", "hidden", "item", "joint", "mlp")]
    settings = [
        part for change in (*small, "training.epochs=2", "training.evaluate_every=0") for part in ("--set", change)
    ]
    trained = veriscene("train", "quick", "--data", "corpus", "--out", "run", *settings, cwd=tmp_path)
    assert trained.stdout.strip() == "run", trained.stderr
    assert (tmp_path / "run/log.jsonl").read_text().count("\n") == 2
    report = veriscene("report", "run", cwd=tmp_path)
    assert report.stdout.strip() == "run/report.html" and (tmp_path / "run/report.html").stat().st_size > 5000


def test_seeds_and_tables_go_together(place: Path, tmp_path: Path) -> None:
    corpus = str(place / "corpus")
    done = veriscene("train", "maxent", "--data", corpus, "--seeds", "2", "--out", "two", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout == "two\n", done.stderr
    assert "over 2 seeds" in done.stderr
    evaluated = veriscene("evaluate", "two", str(place / "corpus/dev/dev.json"), "--json", cwd=tmp_path)
    assert (
        json.loads(evaluated.stdout)["accuracy"]
        == json.loads((tmp_path / "two/summary.json").read_text())["dev"]["accuracy"]
    )
    predicted = veriscene(
        "predict", "two", "--statement", "There is a yellow circle", "--scene", str(place / "scene.json"), cwd=tmp_path
    )
    assert predicted.returncode == 0 and "box 3" in predicted.stdout, predicted.stderr
    reported = veriscene("report", "two", cwd=tmp_path)
    assert reported.returncode == 0 and (tmp_path / reported.stdout.strip()).is_file(), reported.stderr
    again = veriscene("train", "--resume", "two", cwd=tmp_path)
    assert again.returncode == 0 and again.stdout == "two\n", again.stderr

    rows = ("--row", "MaxEnt", "--row", "ImageFeat+RNN", "--set", "training.epochs=1")
    planned = veriscene("reproduce", "table1", "--data", corpus, *rows, "--dry-run", cwd=tmp_path)
    assert planned.returncode == 0 and "2 of 2 rows to train, about" in planned.stderr and not planned.stdout
    assert not (tmp_path / "runs").exists()
    alone = veriscene("reproduce", "table1", "--data", corpus, *rows[2:], cwd=tmp_path)
    assert alone.returncode == 0 and "| ImageFeat+RNN |" in alone.stdout, alone.stderr
    table = veriscene("reproduce", "table1", "--data", corpus, *rows[:2], *rows[4:], "--json", cwd=tmp_path)
    assert table.returncode == 0, table.stderr
    assert [row["row"] for row in json.loads(table.stdout)["rows"]] == ["MaxEnt", "ImageFeat+RNN"]
    assert "| MaxEnt | 68.0 / 67.7 |" in (tmp_path / "runs/table1/table1.md").read_text()
