"""Shipped models judge without torch, as torch does."""

from __future__ import annotations

import json
import pickle
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import veriscene
from samples import yellow_circle_examples
from veriscene import worlds
from veriscene.data.reader import END, OUTSIDE, PAD, split_words
from veriscene.english.grammar import draw
from veriscene.errors import InputError
from veriscene.judge import folders
from veriscene.judge.checkpoint import TorchJudge
from veriscene.judge.folders import READER
from veriscene.judge.onnx_judge import OnnxJudge, OnnxReader
from veriscene.language.tokens import arity
from veriscene.models.reader import Reader
from veriscene.world.examples import write
from veriscene.world.random_scenes import random_scene
from veriscene.worlds.nlvr.looks import WORLD

# Runs the command line in a process that finds none of the packages of the extra `train`.
WITHOUT_TORCH = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "accelerate", "onnx", "onnxscript"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
if sys.argv[1] == "app":
    import veriscene
    from veriscene.service.app import make_app
    assert make_app({"best": veriscene.load("best")}).routes
else:
    from veriscene.cli import main
    main()
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT_TORCH, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


def test_reader_in_onnx_and_torch_write_the_same_tokens_and_complete_programs() -> None:
    path, rng, language = folders.find("best") / READER, random.Random(5), worlds.language(WORLD)
    ours, theirs = OnnxReader(path), Reader.load(path)
    # Not the empty text: it is all padding, of which there is as much as the longest text beside it needs.
    texts = [draw(rng, language).text for _ in range(200)] + ["hello", "zzq wibble", "там есть круг"]
    for one, other in zip(ours.read(texts), theirs.read(texts), strict=True):
        assert one.program == other.program
        for name in ("certainty", "dialect", "outside"):
            assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-4)
    given = ours.numbered([split_words(text) for text in texts[:50]])
    written = ours.write(*given)[0]
    assert np.array_equal(written, theirs.write(*given)[0])
    # The grammar has wordings that are newer than the shipped reader, which may misread one, but not more.
    assert sum(reading.program is None for reading in ours.read(texts[:50]) if reading.outside < 0.5) <= 1
    for numbers in written:
        style, *tokens, end = (ours.tokens[number] for number in numbers if number != PAD)
        is_complete = sum(arity(token) - 1 for token in tokens) == -1
        assert end == ours.tokens[END] and (not tokens if style == OUTSIDE else is_complete)


@pytest.mark.parametrize("name", ["best", "biatt-pointer"])
def test_shipped_judges_in_onnx_and_torch_agree(name: str) -> None:
    examples = yellow_circle_examples(20)
    judge = veriscene.load(name)
    assert isinstance(judge, OnnxJudge)
    for judged in (judge, pickle.loads(pickle.dumps(judge))):
        for ours, theirs in zip(judged(examples), TorchJudge.load(name)(examples), strict=True):
            assert ours.probability == pytest.approx(theirs.probability, abs=1e-5)  # type: ignore[union-attr]
            assert ours.reading == theirs.reading and ours.order == theirs.order  # type: ignore[union-attr]


def test_a_graph_is_refused_with_the_weights_of_another_model(tmp_path: Path) -> None:
    shutil.copytree(folders.find("best"), tmp_path / "model")
    shutil.copy(folders.find("biatt-pointer") / folders.WEIGHTS, tmp_path / "model" / folders.WEIGHTS)
    with pytest.raises(InputError):
        veriscene.load(tmp_path / "model")


def test_without_torch_commands_judge_or_say_what_they_need(tmp_path: Path) -> None:
    examples = yellow_circle_examples(20)
    write(tmp_path / "examples.json", examples, WORLD)
    (tmp_path / "scene.json").write_text(json.dumps(WORLD.to_json_scene(examples[0].scene)), encoding="utf-8")
    shapes = worlds.get("shapeworld")
    seen = random_scene(shapes, random.Random(1))
    (tmp_path / "shapes.json").write_text(json.dumps(shapes.to_json_scene(seen)), encoding="utf-8")
    asked = ("--statement", "There is a yellow circle.", "--scene", "scene.json")
    found = run(tmp_path, "predict", "best-pixels", *asked, "--json")
    assert found.returncode == 0 and json.loads(found.stdout)["understood"], found.stderr
    for arguments in (
        ("explain", "best", *asked, "--judgements", "20"),
        ("evaluate", "best", "examples.json", "--json"),
        ("predict", "best", *asked),
        ("world", "new", "shelf.toml"),
        ("world", "check", "shelf.toml"),
        ("world", "show", "nlvr"),
        ("data", "synth", "corpus", "--statements", "10", "--level", "simple", "--seed", "7"),
        ("data", "render", "scene.json", "scene.png"),
        ("predict", "best-pixels", "--statement", "There is a circle.", "--image", "scene.png"),
        ("predict", "shapeworld", "--statement", "There is a circle.", "--scene", "shapes.json"),
        ("checks",),
        ("data", "stats", "examples.json"),
        ("models",),
        ("app",),
    ):
        found = run(tmp_path, *arguments)
        assert found.returncode == 0, f"{arguments}: {found.stderr}"
    for extra, *arguments in (
        ("train", "train", "quick"),
        ("onnx", "export", "best", "m.onnx"),
        ("train", "quickstart"),
    ):
        refused = run(tmp_path, *arguments)
        assert refused.returncode == 1 and refused.stderr.count("\n") == 1, refused.stderr
        assert "torch" in refused.stderr and f"veriscene[{extra}]" in refused.stderr
    in_python = "import sys; sys.modules['torch'] = None; import veriscene; veriscene.train('quick')"
    refused = subprocess.run([sys.executable, "-c", in_python], capture_output=True, text=True, timeout=120)
    last = refused.stderr.splitlines()[-1]
    assert "MissingRequirement: " in last and "torch" in last and "veriscene[train]" in last, refused.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_eyes_need_little_memory_however_many_pictures_they_are_given() -> None:
    see = (
        "import re, numpy; from veriscene.judge.onnx_judge import OnnxEyes;"
        "OnnxEyes().see(numpy.zeros((24, 100, 400, 3), numpy.uint8));"
        "print(re.search(r'VmHWM:\\s+(\\d+) kB', open('/proc/self/status').read())[1])"
    )
    kilobytes = subprocess.run([sys.executable, "-c", see], capture_output=True, text=True, check=True).stdout
    assert int(kilobytes) < 1_000_000  # read at once, they took 2,700,000
