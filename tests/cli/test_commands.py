"""What the commands print, and that they work together."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from shell import settings, shell, veriscene

from veriscene import worlds
from veriscene.world.examples import read_predictions, write, write_predictions
from veriscene.worlds.nlvr.looks import WORLD
from veriscene.worlds.nlvr.pictures import permuted

SHELF = Path(__file__).resolve().parents[2] / "examples" / "shelf" / "shelf.toml"
KEYS = {"probability", "verdict", "understood", "reading", "disputed", "per_box", "order", "unknown_words"}


def test_evaluate_prints_one_json_object_and_writes_the_official_csv(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "p.csv"
    done = veriscene("evaluate", "model", "corpus/dev/dev.json", "--json", "--predictions", str(out), cwd=place)
    scores = json.loads(done.stdout)
    assert scores["examples"] == 10 and scores.pop("unknown_words") == {} and scores.pop("not_understood") == 0
    assert all(0 <= scores[name] <= 1 for name in ("accuracy", "consistency"))
    assert scores["interval"][0] <= scores["accuracy"] <= scores["interval"][1]
    again = veriscene("score", "corpus/dev/dev.json", str(out), "--json", cwd=place)
    assert json.loads(again.stdout) == scores


def test_a_second_file_of_predictions_is_compared_on_the_same_examples(place: Path, tmp_path: Path) -> None:
    dev = "corpus/dev/dev.json"
    labels = {each.identifier: each.label is True for each in worlds.read(place / dev)}
    few = {name: not label if number < 3 else label for number, (name, label) in enumerate(labels.items())}
    for name, verdicts in {"all.csv": labels, "few.csv": few, "short.csv": dict([*few.items()][1:])}.items():
        write_predictions(tmp_path / name, verdicts)
    first, second = str(tmp_path / "all.csv"), str(tmp_path / "few.csv")
    compared = json.loads(veriscene("score", dev, first, second, "--json", cwd=place).stdout)
    alone = json.loads(veriscene("score", dev, first, "--json", cwd=place).stdout)
    other = compared.pop("other")
    assert compared == alone and compared["accuracy"] == 1 and other["accuracy"] == pytest.approx(0.7)
    assert other["difference"] == pytest.approx(0.3) and other["interval"][0] <= 0.3 <= other["interval"][1]
    assert other["mcnemar"] == {"both": 7, "only_first": 3, "only_second": 0, "neither": 0, "p": 0.25}
    assert veriscene("score", dev, first, second, cwd=place).returncode == 0
    refused = veriscene("score", dev, first, str(tmp_path / "short.csv"), cwd=place)
    assert refused.returncode == 1 and "short.csv" in refused.stderr and refused.stderr.count("\n") == 1


def test_without_labels_the_json_object_has_the_same_keys_and_no_scores(place: Path, tmp_path: Path) -> None:
    arguments = ("--json", "--predictions", str(tmp_path / "p.csv"))
    scored = veriscene("evaluate", "model", "corpus/dev/dev.json", *arguments, cwd=place)
    done = veriscene("evaluate", "model", "unlabelled.json", *arguments, cwd=place)
    record = json.loads(done.stdout)
    assert done.returncode == 0 and done.stderr.startswith("unlabelled.json: ") and "p.csv" in done.stderr
    assert record.keys() == json.loads(scored.stdout).keys()
    assert record["accuracy"] is record["interval"] is record["consistency"] is None and record["breakdown"] == []
    assert len(read_predictions(tmp_path / "p.csv")) == 10


def test_an_exported_file_is_evaluated_like_its_checkpoint(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "model.onnx"
    assert veriscene("export", "pairs", str(out), cwd=place).returncode == 0
    by_torch, by_onnx = (
        veriscene("evaluate", model, "corpus/dev/dev.json", "--json", cwd=place) for model in ("pairs", str(out))
    )
    assert by_onnx.returncode == 0 and json.loads(by_onnx.stdout) == json.loads(by_torch.stdout)


def test_unknown_words_are_reported_with_the_nearest_known_ones(place: Path, tmp_path: Path) -> None:
    examples = worlds.read(place / "corpus/dev/dev.json")
    typos = [replace(example, statement=example.statement.replace("circle", "cirlce")) for example in examples]
    write(tmp_path / "typo.json", typos, WORLD)
    text = (tmp_path / "typo.json").read_text()
    statement = ("--statement", "There is a cirlce.", "--scene", "scene.json", "--json")
    for done in (
        veriscene("predict", "model", *statement, cwd=place),
        veriscene("predict", "model", cwd=place, stdin=text),
        veriscene("evaluate", "model", str(tmp_path / "typo.json"), "--json", cwd=place),
    ):
        assert done.returncode == 0
        for line in done.stdout.splitlines():
            assert json.loads(line)["unknown_words"] == {"cirlce": ["circle"]}
        assert done.stderr.count("\n") == 1 and re.search(r"'cirlce' .*\bcircle\b", done.stderr)


def test_a_long_unknown_word_is_shortened(place: Path) -> None:
    asked = ("--statement", f"There is a {'x' * 9000}.", "--scene", "scene.json")
    done = veriscene("predict", "model", *asked, cwd=place)
    assert done.returncode == 0 and "'xxx" in done.stderr and len(done.stderr) < 300


def test_of_a_corpus_folder_the_dev_split_is_evaluated(place: Path) -> None:
    of_file = ("corpus/dev/dev.json", "--train", "corpus/train/train.json")
    folder, file = (veriscene("evaluate", "model", *path, "--json", cwd=place) for path in (("corpus",), of_file))
    assert folder.returncode == 0 and folder.stdout == file.stdout and "corpus/dev/dev.json" in folder.stderr


def test_predict_on_a_scene_and_on_lines_agree(place: Path) -> None:
    examples = worlds.read(place / "corpus/dev/dev.json")
    question = ("--statement", examples[0].statement, "--scene", "scene.json")
    one = json.loads(veriscene("predict", "model", *question, "--json", cwd=place).stdout)
    lines = (place / "corpus/dev/dev.json").read_text()
    first, rest = lines.split("\n", 1)
    many = veriscene("predict", "model", cwd=place, stdin=f"{first}\nnonsense\n{rest}")
    assert many.returncode == 1 and many.stderr.startswith("veriscene: standard input, line 2: ")
    answers = [json.loads(line) for line in many.stdout.splitlines()]
    assert list(answers.pop(1)) == ["error"]
    assert [answer.pop("identifier") for answer in answers] == [example.identifier for example in examples]
    assert one.keys() == answers[0].keys() == KEYS
    assert one["probability"] == pytest.approx(answers[0]["probability"], abs=1e-6)


def test_a_scene_may_come_from_a_pipe(place: Path) -> None:
    asked = 'veriscene predict model --statement "There is a circle." --json --scene'
    file = shell(f"{asked} scene.json", cwd=place)
    pipe = shell(f"cat scene.json | {asked} /dev/stdin", cwd=place)
    assert file.returncode == 0 and pipe.stdout == file.stdout, pipe.stderr


def test_predict_on_lines_with_several_statements(place: Path) -> None:
    item = {"shape": "square", "color": "red", "shade": 0.0, "x": 0.5, "y": 0.5, "rotation": 0.0}
    item |= {"half_width": 0.1, "half_height": 0.1}
    statements = [{"text": "A square is red."}, None, {"text": "There is a blue circle."}]
    line = json.dumps({"identifier": "s-1", "items": [item], "statements": statements})
    done = veriscene("predict", "shapeworld", cwd=place, stdin=line)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["identifier"] for answer in answers] == ["s_1-0", "s_1-1", "s_1-2"]
    assert [answer.get("verdict") for answer in answers] == [True, None, False]
    assert done.returncode == 1 and "line 1: statement 2: " in done.stderr and "1 of 3" in done.stderr


@pytest.mark.parametrize(("model", "reads_in_order"), [("model", True), ("pairs", False)])
def test_predict_shows_the_reading_order_if_there_is_one(place: Path, model: str, reads_in_order: bool) -> None:
    done = veriscene("predict", model, "--statement", "There is a yellow circle.", "--scene", "scene.json", cwd=place)
    assert done.returncode == 0 and done.stdout.startswith(("true (probability", "false (probability"))
    assert ("items read in the order" in done.stdout) is reads_in_order


def test_pictures_are_drawn_read_and_judged_like_their_scenes(place: Path, tmp_path: Path) -> None:
    dev, images, statement = str(place / "corpus/dev/dev.json"), str(tmp_path / "images"), "There is a yellow circle."
    drawn = veriscene("data", "render", dev, images, "--permutations", "2", cwd=place)
    assert drawn.stdout == f"{images}: 20 pictures of 10 scenes\n", drawn.stderr
    read = veriscene("data", "decode", images, cwd=place)
    records = [json.loads(line) for line in read.stdout.splitlines()]
    examples = {example.identifier: example for example in worlds.read(dev)}
    assert len(records) == 20 and {record["identifier"] for record in records} == set(examples)
    for record in records:
        boxes = [set(box.items) for box in WORLD.parse(record["structured_rep"]).boxes]
        file, scene = tmp_path / "images" / record["picture"], examples[record["identifier"]].scene
        assert boxes == [set(box.items) for box in permuted(scene, int(file.stem[-1])).boxes]

    out = str(tmp_path / "p.csv")
    by_scene, by_picture = (
        json.loads(veriscene("evaluate", "model", dev, "--json", *more, cwd=place).stdout)
        for more in ((), ("--images", images, "--predictions", out))
    )
    assert by_picture["examples"] == 10 and by_picture["pictures"] == 20
    assert [by_picture[name] for name in ("accuracy", "consistency")] == [
        by_scene[name] for name in ("accuracy", "consistency")
    ]
    assert (tmp_path / "p.csv").read_text().count(".png,") == 20
    scored = json.loads(veriscene("score", dev, out, "--json", cwd=place).stdout)
    assert scored == {
        name: value for name, value in by_picture.items() if name not in ("unknown_words", "not_understood")
    }

    png, svg, back = (str(tmp_path / name) for name in ("scene.png", "scene.svg", "scene.json"))
    for file in (png, svg):
        assert veriscene("data", "render", "scene.json", file, cwd=place).stdout == f"{file}\n"
    assert Path(svg).read_text().startswith("<svg")
    assert veriscene("data", "decode", png, "--out", back, cwd=place).stdout == f"{back}\n"
    ways = (("--scene", "scene.json"), ("--scene", back), ("--image", png))
    answers = [veriscene("predict", "model", "--statement", statement, *way, "--json", cwd=place) for way in ways]
    first, *others = (json.loads(answer.stdout)["probability"] for answer in answers)
    assert others == pytest.approx([first, first], abs=1e-6)


@pytest.mark.parametrize(("file", "status"), [("corpus/dev/dev.json", 0), ("none.json", 1)])
def test_a_process_of_a_group_exits_with_its_status_before_interpreter_shutdown(
    place: Path, file: str, status: int
) -> None:
    script = (
        "import atexit, torch.distributed as group; from veriscene.cli import main;"
        "group.init_process_group('gloo', store=group.HashStore(), rank=0, world_size=1);"
        "atexit.register(print, 'shutdown'); main()"
    )
    command = [sys.executable, "-c", script, "evaluate", "model", file, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=place, timeout=120)
    assert done.returncode == status and "shutdown" not in done.stdout
    assert ("accuracy" in done.stdout) is (status == 0)
    assert done.stderr.count("veriscene:") == status


def test_check_and_stats_describe_a_corpus(place: Path) -> None:
    check = veriscene("data", "check", "corpus/dev/dev.json", "broken.json", cwd=place)
    assert check.returncode == 1 and "broken.json:11: " in check.stdout
    check = veriscene("data", "check", "long.json", cwd=place)  # a statement of 257 words
    problem, summary = check.stdout.splitlines()
    assert check.returncode == 1 and problem.startswith("long.json:2: sentence: ") and "256" in problem
    assert summary.startswith("long.json: 1 valid")
    stats = veriscene("data", "stats", "corpus", "--json", cwd=place)
    assert json.loads(stats.stdout)["corpus/dev/dev.json"]["examples"] == 10


def test_a_corpus_is_generated_trained_on_listed_and_reported(tmp_path: Path) -> None:
    made = veriscene("data", "synth", "corpus", "--statements", "40", "--level", "simple", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    small = settings(*(f"model.{name}=6" for name in ("embedding", "hidden", "item", "joint", "mlp")))
    short = settings("training.epochs=2", "training.evaluate_every=0")
    trained = veriscene("train", "quick", "--data", "corpus", "--out", "runs/one", *small, *short, cwd=tmp_path)
    assert trained.stdout == "runs/one\n", trained.stderr
    assert (tmp_path / "runs/one/log.jsonl").read_text().count("\n") == 2
    again = veriscene("train", "--resume", "runs/one", cwd=tmp_path)
    assert again.returncode == 0 and again.stdout == trained.stdout and "finished" in again.stderr
    for saved in ("best", "last"):  # as if it had been killed before the first dev score
        shutil.rmtree(tmp_path / "runs/one" / saved)
    anew = veriscene("train", "--resume", "runs/one", cwd=tmp_path)
    assert anew.stdout == trained.stdout and (tmp_path / "runs/one/best").is_dir(), anew.stderr
    reported = veriscene("report", "runs/one", cwd=tmp_path)
    assert reported.stdout == "runs/one/report.html\n" and (tmp_path / "runs/one/report.html").is_file()
    (tmp_path / "runs/other").mkdir()
    listing = json.loads(veriscene("models", "--json", cwd=tmp_path).stdout)
    assert all(model["summary"] and model["presets"] for model in listing["models"])
    found = {checkpoint["name"]: checkpoint for checkpoint in listing["checkpoints"]}
    assert "best" in found and "runs/one" in found and "runs/other" not in found
    assert all(each["megabytes"] >= 0 for each in found.values())
    assert all(0 < each["dev_accuracy"] <= 1 for name, each in found.items() if not name.endswith("-pixels"))
    table = veriscene("models", cwd=tmp_path).stdout
    assert all(each["name"] in table for kind in listing.values() for each in kind)


def test_seeds_and_tables_work_together(place: Path, tmp_path: Path) -> None:
    corpus = str(place / "corpus")
    done = veriscene("train", "maxent", "--data", corpus, "--seeds", "2", "--out", "two", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout == "two\n", done.stderr
    evaluated = veriscene("evaluate", "two", str(place / "corpus/dev/dev.json"), "--json", cwd=tmp_path)
    summary = json.loads((tmp_path / "two/summary.json").read_text())
    assert json.loads(evaluated.stdout)["accuracy"] == summary["dev"]["accuracy"]
    reported = veriscene("report", "two", cwd=tmp_path)
    assert reported.returncode == 0 and (tmp_path / reported.stdout.strip()).is_file(), reported.stderr
    again = veriscene("train", "--resume", "two", cwd=tmp_path)
    assert again.returncode == 0 and again.stdout == "two\n", again.stderr

    rows = ("--row", "MaxEnt", "--row", "ImageFeat+RNN", *settings("training.epochs=1"))
    planned = veriscene("reproduce", "table1", "--data", corpus, *rows, "--dry-run", cwd=tmp_path)
    assert planned.returncode == 0 and planned.stderr.count(": veriscene train ") == 2 and not planned.stdout
    assert not (tmp_path / "runs").exists()
    table = veriscene("reproduce", "table1", "--data", corpus, *rows, "--json", cwd=tmp_path)
    assert table.returncode == 0, table.stderr
    assert [row["row"] for row in json.loads(table.stdout)["rows"]] == ["MaxEnt", "ImageFeat+RNN"]
    assert (tmp_path / "runs/table1.md").is_file()


def test_judging_in_bulk_fails_if_nothing_could_be_judged(place: Path, tmp_path: Path) -> None:
    good = (place / "corpus/dev/dev.json").read_text(encoding="utf-8").splitlines()[0]
    bad = '{"sentence": "There is a circle."}'
    for name, lines, status in (("bad", [bad, bad], 1), ("mixed", [bad, good], 0), ("empty", [], 1)):
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        done = veriscene("judge", "model", str(tmp_path / f"{name}.jsonl"), str(tmp_path / name), "--json", cwd=place)
        assert done.returncode == status and done.stderr.count("veriscene: ") == status, done.stderr
        assert json.loads(done.stdout)["questions"] == len(lines)
    again = veriscene("judge", "model", str(tmp_path / "mixed.jsonl"), str(tmp_path / "mixed"), cwd=place)
    assert again.returncode == 0  # nothing is left to do, which is no failure


def test_a_model_is_not_asked_about_the_files_of_another_world(place: Path, tmp_path: Path) -> None:
    shutil.copytree(place / "corpus", tmp_path / "corpus")
    shutil.copyfile(SHELF, tmp_path / "corpus" / "world.toml")
    done = veriscene("evaluate", "model", str(tmp_path / "corpus/dev/dev.json"), cwd=place)
    assert done.returncode == 1 and "the world shelf" in done.stderr and done.stderr.count("\n") == 1


def test_an_exported_file_without_the_reader_says_so(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    done = veriscene("export", "best", str(tmp_path / "best.onnx"), cwd=tmp_path)
    assert done.returncode == 0 and "reader" in done.stderr and (tmp_path / "best.onnx").exists()
