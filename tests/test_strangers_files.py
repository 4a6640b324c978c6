"""A stranger's files are refused with one clear line, write nowhere else, and tell a terminal nothing."""

from __future__ import annotations

import csv
import io
import json
import random
import shutil
import time
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from torch import nn

from samples import small_config, write_corpus, yellow_circle_examples
from small_models import EXAMPLES, exported
from veriscene import worlds
from veriscene.cli.judge import models
from veriscene.config import Config, TrainingConfig
from veriscene.data import own
from veriscene.errors import MAX_PART, InputError
from veriscene.files import parse_json
from veriscene.judge import folders
from veriscene.judge.folders import list_checkpoints
from veriscene.judge.onnx_judge import OnnxJudge
from veriscene.models.vision.backbone import BACKBONES
from veriscene.models.vision.convert import TIMM, fill_from
from veriscene.report.run import report_run
from veriscene.training.log import LOG, read_log
from veriscene.training.spec import Record, Spec
from veriscene.training.train import train
from veriscene.world.drawing import escape
from veriscene.world.examples import read_predictions, scan, write_predictions
from veriscene.worlds.nlvr.looks import WORLD


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a corpus and a short run."""
    root = tmp_path_factory.mktemp("stranger")
    corpus = write_corpus(root / "corpus", yellow_circle_examples(12), yellow_circle_examples(8, seed=1))
    config = Config(model=small_config("bienc"), training=TrainingConfig(batch=6, epochs=1))
    train(Spec(config, corpus=corpus), root / "run")
    return root


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained / "run", tmp_path / "run"))


def resume(folder: Path) -> object:
    return train(Record.read(folder).spec, folder, resume=True)


def changed(file: Path, change: Callable[[dict[str, Any]], object]) -> None:
    tree = json.loads(file.read_text())
    change(tree)
    file.write_text(json.dumps(tree))


# ---------------------------------------------------------------- records

DAMAGED_RECORDS: dict[str, Callable[[dict[str, Any]], object]] = {
    "initial is a number": lambda tree: tree["spec"].update(initial=5),
    "corpus is a list": lambda tree: tree["spec"].update(corpus=["a"]),
    "corpus has a NUL": lambda tree: tree["spec"].update(corpus="a\0b"),
    "corpus has a name of 300 letters": lambda tree: tree["spec"].update(corpus="a/" + "b" * 300),
    "programs hold a number": lambda tree: tree["spec"].update(programs=[7]),
    "preset is an object": lambda tree: tree["spec"].update(preset={}),
    "a seed is infinite": lambda tree: tree.update(seeds=[float("inf")]),
    "a seed is enormous": lambda tree: tree.update(seeds=[10**400]),
    "a seed is a fraction": lambda tree: tree.update(seeds=[1.5]),
    "seeds are a number": lambda tree: tree.update(seeds=5),
    "command is a list": lambda tree: tree.update(command=[]),
    "commit is an object": lambda tree: tree.update(commit={}),
    "an unknown entry": lambda tree: tree.update(unknown="x"),
}


@pytest.mark.parametrize("damage", DAMAGED_RECORDS.values(), ids=DAMAGED_RECORDS.keys())
def test_a_damaged_record_of_a_run_is_one_line(damage: Callable[[dict[str, Any]], object], run: Path) -> None:
    changed(run / "spec.json", damage)
    with pytest.raises(InputError) as refused:
        Record.read(run)
    assert str(run / "spec.json") in str(refused.value)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"spec":' * 50_000, "5", "null", '"x"', "[[1, 2]]"])
def test_a_record_that_is_no_object_is_one_line(text: str, run: Path) -> None:
    (run / "spec.json").write_text(text)
    with pytest.raises(InputError) as refused:
        Record.read(run)
    assert refused.value.where == run / "spec.json"


def test_a_fingerprint_that_is_a_tensor_is_one_line(run: Path) -> None:
    state = torch.load(run / "last" / "trainer.pt", weights_only=True)
    for data in (torch.zeros(3), [], None):
        torch.save({**state, "data": data}, run / "last" / "trainer.pt")
        with pytest.raises(InputError) as refused:
            resume(run)
        assert refused.value.where == run


def test_a_log_with_an_enormous_number_ends_there(run: Path) -> None:
    good = (run / LOG).read_text()
    (run / LOG).write_text(good + good.replace('"step": 2', f'"step": 1{"0" * 400}') + good)
    assert [line.step for line in read_log(run)] == [2]


def test_one_bad_metrics_file_does_not_hide_other_runs(run: Path) -> None:
    for number, metrics in enumerate(["[]", '{"dev_accuracy": "x"}', '{"dev_accuracy": [[]], "supervision": {}}', "{"]):
        other = Path(shutil.copytree(run, run.parent / f"run{number}"))
        (other / "best" / "metrics.json").write_text(metrics)
    found = {Path(each.folder).name: each for each in list_checkpoints(run.parent)}
    assert found["run"].dev_accuracy is not None and found["run"].supervision == "labels"
    assert all(type(each.dev_accuracy) in (float, type(None)) for each in found.values())


# ---------------------------------------------------------------- tables, weights, ONNX


def test_a_table_with_a_nul_byte_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "scenes").mkdir()
    for row in ("There is a circle.,a\0b.json,true", "There is a circle.,\0,true", "a\0b,x.json,tr\0ue"):
        (tmp_path / "table.csv").write_bytes(f"statement,scene,label\n{row}\n".encode())
        with pytest.raises(InputError) as refused:
            own.read_table(tmp_path / "table.csv", tmp_path / "scenes", WORLD, None)
        assert "table.csv:2" in str(refused.value.where)


def test_a_mutated_torch_file_is_one_line(tmp_path: Path) -> None:
    stream = io.BytesIO()
    torch.save({"stem.weight": torch.rand(3, 3), "head.bias": torch.rand(2)}, stream)
    good, rng, file, backbone = stream.getvalue(), random.Random(1), tmp_path / "weights.pth", BACKBONES[TIMM]()
    for _ in range(300):
        content = bytearray(good)
        for _ in range(rng.randint(1, 4)):
            content[rng.randrange(len(content))] = rng.randrange(256)
        file.write_bytes(content[: rng.randrange(len(content))] if rng.random() < 0.2 else content)
        with pytest.raises(InputError):
            fill_from(file, backbone, progress=lambda done, total: None)


def with_pickle(content: bytes) -> bytes:
    """A torch file whose pickle is replaced."""
    source, target = io.BytesIO(), io.BytesIO()
    torch.save({"a": torch.rand(2)}, source)
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            new.writestr(name, content if name.endswith("data.pkl") else old.read(name))
    return target.getvalue()


@pytest.mark.parametrize(
    "content", [b"\x80\x02K\x01.", b"\x80\x02}(K\x01K\x02u.", b"\x80\x02.", b"\x80\x02h\x05.", b"2."]
)
def test_a_torch_file_with_another_pickle_is_one_line(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "weights.pth").write_bytes(with_pickle(content))
    with pytest.raises(InputError):
        fill_from(tmp_path / "weights.pth", nn.Identity(), progress=lambda done, total: None)  # type: ignore[arg-type]


def test_a_name_of_any_length_in_a_torch_file_is_refused_at_once(run: Path, tmp_path: Path) -> None:
    pickle = b"\x80\x02ca\n" + b"9" * 200_000 + b"\n."  # torch's own message would take minutes
    (tmp_path / "weights.pth").write_bytes(with_pickle(pickle))
    (run / "last" / "trainer.pt").write_bytes(with_pickle(pickle))
    started = time.process_time()
    with pytest.raises(InputError):
        fill_from(tmp_path / "weights.pth", BACKBONES[TIMM](), progress=lambda done, total: None)
    with pytest.raises(InputError):
        resume(run)
    assert time.process_time() < started + 30


def test_a_torch_file_that_unpacks_to_more_is_refused_without_unpacking_it(tmp_path: Path) -> None:
    source = io.BytesIO()
    torch.save({"a": torch.rand(2)}, source)
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(tmp_path / "weights.pth", "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, bytes(50 << 20) if name.endswith("data/0") else old.read(name))
    with pytest.raises(InputError) as refused:
        fill_from(tmp_path / "weights.pth", BACKBONES[TIMM](), progress=lambda done, total: None)
    assert "compressed" in str(refused.value)


METADATA = {
    "config": ["[" * 50_000, "5", "[]", "null", '{"model": {"model": {}}}', '{"model": 5, "training": []}'],
    "vocabulary": ['["<pad>", "<unk>", null]', "5", '{"a": 1}', '[["<pad>"], "<unk>"]', "[" * 50_000],
    "world": ["null", "[[]]", '{"name": {}}', "[" * 50_000],
    "order": ["", "[]"],
}


@pytest.mark.parametrize("key", METADATA)
def test_metadata_of_an_onnx_file_that_do_not_fit_are_one_line(key: str, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    graph = onnx.load(str(exported("bienc")))
    (entry,) = (each for each in graph.metadata_props if each.key == key)
    for value in METADATA[key]:
        entry.value = value
        onnx.save(graph, str(tmp_path / "model.onnx"))
        with pytest.raises(InputError) as refused:
            OnnxJudge.load(tmp_path / "model.onnx")
        assert str(tmp_path / "model.onnx") in str(refused.value)


@pytest.mark.parametrize("shape", [(), (7,), ("n", 2), ("n", 1, 1)])
def test_a_graph_of_other_shapes_is_one_line_when_it_is_run(shape: tuple[int | str, ...], tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    original = onnx.load(str(exported("bienc")))
    sizes = [2 if isinstance(size, str) else size for size in shape]
    constant = onnx.numpy_helper.from_array(np.zeros(sizes, np.float32), "logits")
    node = onnx.helper.make_node("Constant", [], ["logits"], value=constant)
    output = onnx.helper.make_tensor_value_info("logits", onnx.TensorProto.FLOAT, sizes)
    graph = onnx.helper.make_graph([node], "other", list(original.graph.input), [output])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=9)
    onnx.helper.set_model_props(model, {each.key: each.value for each in original.metadata_props})
    onnx.save(model, str(tmp_path / "model.onnx"))
    judge = OnnxJudge.load(tmp_path / "model.onnx")
    with pytest.raises(InputError):
        judge([(example.statement, example.scene) for example in EXAMPLES[:3]])[0]


def test_a_graph_at_which_the_runtime_crashes_is_one_line(tmp_path: Path) -> None:
    """Found by fuzzing: ONNX Runtime 1.31 ends the process at a Split with more outputs than it states."""
    onnx = pytest.importorskip("onnx")
    graph = onnx.load(str(exported("bienc")))
    split = next(node for node in graph.graph.node if node.op_type == "Split" and len(node.input) == 1)
    split.output.append("another")
    onnx.save(graph, str(tmp_path / "model.onnx"))
    with pytest.raises(InputError) as refused:
        OnnxJudge.load(tmp_path / "model.onnx")
    assert str(tmp_path / "model.onnx") in str(refused.value)
    with pytest.raises(InputError):
        OnnxJudge((tmp_path / "model.onnx").read_bytes(), threads=1)


def test_names_in_a_graph_are_shown_to_nobody(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    onnx = pytest.importorskip("onnx")
    original = onnx.load(str(exported("bienc")))
    shape = onnx.numpy_helper.from_array(np.array([7]), "shape")
    node = onnx.helper.make_node("Reshape", ["features", "shape"], ["logits"], name="\x1b]0;owned\x07")
    output = onnx.helper.make_tensor_value_info("logits", onnx.TensorProto.FLOAT, [7])
    graph = onnx.helper.make_graph([node], "other", list(original.graph.input), [output], [shape])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=9)
    onnx.helper.set_model_props(model, {each.key: each.value for each in original.metadata_props})
    onnx.save(model, str(tmp_path / "model.onnx"))
    judge = OnnxJudge.load(tmp_path / "model.onnx")
    with pytest.raises(InputError) as refused:
        judge([(each.statement, each.scene) for each in EXAMPLES[:3]])[0]
    assert str(refused.value).isprintable() and capfd.readouterr() == ("", "")


# ---------------------------------------------------------------- what is written where


def test_a_run_with_links_is_resumed_and_nothing_behind_the_links_changes(trained: Path, tmp_path: Path) -> None:
    config = Config(model=small_config("bienc"), training=TrainingConfig(batch=6, epochs=2))
    spec = Spec(config, corpus=trained / "corpus")
    train(spec, tmp_path / "run", stop_after=lambda line: True)
    changed(tmp_path / "run" / "spec.json", lambda tree: None)
    state = torch.load(tmp_path / "run" / "last" / "trainer.pt", weights_only=True)
    state["position"]["finished"] = False
    torch.save(state, tmp_path / "run" / "last" / "trainer.pt")
    mine = tmp_path / "mine"
    mine.mkdir()
    for name in ("spec.json", LOG, "last", "best", "tensorboard"):
        (tmp_path / "run" / name).rename(mine / name)
        (tmp_path / "run" / name).symlink_to(mine / name)
    before = {path: path.read_bytes() for path in mine.rglob("*") if path.is_file()}
    resume(tmp_path / "run")
    resume(tmp_path / "run")
    assert {path: path.read_bytes() for path in mine.rglob("*") if path.is_file()} == before
    names = ("spec.json", LOG, "last")
    assert not any((tmp_path / "run" / name).is_symlink() for name in names)
    assert [line.step for line in read_log(tmp_path / "run")] == [2, 4]


def test_a_report_is_not_written_through_a_link_in_the_run(run: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.html").write_text("<!DOCTYPE html>mine")
    (run / "report.html").symlink_to(tmp_path / "mine.html")
    report = report_run(run, Accelerator(cpu=True)).report
    assert report == run / "report.html" and not report.is_symlink()
    assert (tmp_path / "mine.html").read_text() == "<!DOCTYPE html>mine"


@pytest.mark.parametrize(
    "best", ["../elsewhere", "{elsewhere}", "", ".", "..", "seed1/../../elsewhere", "link", "seed7"]
)
def test_the_best_seed_of_a_summary_is_a_folder_beside_it(best: str, trained: Path, tmp_path: Path) -> None:
    elsewhere = Path(shutil.copytree(trained / "run", tmp_path / "elsewhere"))
    folder = tmp_path / "seeds"
    shutil.copytree(trained / "run", folder / "seed1")
    (folder / "link").symlink_to(elsewhere)
    (folder / "seed7").symlink_to(elsewhere)
    (folder / "summary.json").write_text(json.dumps({"best": best.format(elsewhere=elsewhere)}))
    with pytest.raises(InputError) as refused:
        report_run(folder, Accelerator(cpu=True))
    assert refused.value.where == folder / "summary.json" and not (elsewhere / "report.html").exists()
    (folder / "summary.json").write_text(json.dumps({"best": "seed1"}))
    assert folders.best_run(folder) == folder / "seed1"


# ---------------------------------------------------------------- what is shown

ESCAPES = "\x1b]0;owned\x07\x1b[2J\u202e\x00\r"


def test_a_message_has_no_control_characters_and_a_bounded_length() -> None:
    problems: list[InputError] = []
    for key in (ESCAPES, "k" * 10**6, ESCAPES * 1000):
        WORLD.read_scene([[{key: 1, "x_loc": 3}], [], []], problems)
        with pytest.raises(InputError) as error:
            parse_json(json.dumps({key: 1})[:-1] + "," + json.dumps({key: 1})[1:])
        problems.append(error.value)
        problems.append(InputError(key, where=key, allowed=key).at(key))
    assert len(problems) > 6
    for problem in problems:
        assert str(problem).isprintable() and len(str(problem)) < 4 * MAX_PART


def test_the_list_of_models_shows_names_of_runs_as_they_are_without_control_characters(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    changed(run / "best" / "config.json", lambda tree: tree["model"].update(name="\x1b]0;owned\x07[/red]"))
    run.parent.joinpath("runs").mkdir()
    run.rename(run.parent / "runs" / "\x1b[2J[red]")
    monkeypatch.chdir(run.parent)
    models(as_json=False)
    shown = capsys.readouterr().out
    assert "[2J[red]" in shown and all(line.isprintable() for line in shown.splitlines())


def test_statements_with_control_characters_leave_pages_well_formed() -> None:
    text = f"<p>{escape('a < b & ' + ESCAPES + chr(0xFFFE) + chr(0xD800) + ' é 🙂')}</p>"
    assert "é 🙂" in (ElementTree.fromstring(text).text or "")


@pytest.mark.parametrize("identifier", ["=1+1-0", "+1-0", "@SUM(A1)-1", "a\x1b-0", "a\0-0"])
def test_identifiers_that_a_spreadsheet_or_terminal_would_obey_are_refused(identifier: str, tmp_path: Path) -> None:
    example = replace(yellow_circle_examples(1)[0], identifier=identifier)
    write_corpus(tmp_path, [example], [example])
    (found,) = scan(tmp_path / "dev" / "dev.json", worlds.get())
    assert isinstance(found, InputError)


def test_predictions_are_read_back(tmp_path: Path) -> None:
    verdicts = {"12-0": True, "a=b-1": False}
    write_predictions(tmp_path / "x.csv", verdicts)
    assert read_predictions(tmp_path / "x.csv") == verdicts
    assert [row[0] for row in csv.reader((tmp_path / "x.csv").open())] == list(verdicts)
