"""A model and a world from a module outside the package train, evaluate, export and serve."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from shell import settings, veriscene

from veriscene import worlds
from veriscene.errors import InputError
from veriscene.models import MODELS
from veriscene.plugins import load_plugin

MODULE = '''
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from veriscene.config import ModelConfig, size
from veriscene.data.batch import required
from veriscene.models.base import Judgement, Model, Order
from veriscene.world.schema import World

WORLD = World.read(Path(__file__).with_name("farm.toml"))


@dataclass(frozen=True)
class BagConfig(ModelConfig):
    name: str = "bag"
    width: int = size(8)


class Bag(Model):
    """The mean of the words and the sum of the items."""

    Config = BagConfig
    summary = "a bag of words and items"
    order = Order.NONE

    def __init__(self, config, vocabulary, world):
        super().__init__(config, vocabulary, world)
        width = config.width
        self.words = nn.Embedding(len(vocabulary), width)
        self.items = nn.Linear(world.feature_count, width)
        self.score = nn.Bilinear(width, width, 1)

    def forward(self, batch):
        items, statement = required(batch.items), batch.statement
        words = (self.words(statement.words) * statement.mask[..., None]).sum(1)
        seen = (torch.tanh(self.items(items.features)) * items.mask[..., None]).sum((1, 2))
        return Judgement(logits=self.score(words, seen).squeeze(-1))
'''
WORLD = """
name = "farm"
canvas = [50, 20]
boxes = 2
items = [0, 3]
extent = 4
[attributes.animal]
values = ["cow", "hen"]
noun = true
"""


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    (tmp_path / "farm_plugin.py").write_text(MODULE)
    (tmp_path / "farm.toml").write_text(WORLD)
    (tmp_path / "bag.toml").write_text('[model]\nname = "bag"\n[training]\nepochs = 2\nbatch = 4\n')
    for split in ("train", "dev"):
        (tmp_path / "corpus" / split).mkdir(parents=True)
        lines = [
            {
                "statement": f"There is a {name}.",
                "scene": [[{"x": 1, "y": 2, "animal": kind}], []],
                "label": name == kind,
            }
            for name in ("cow", "hen")
            for kind in ("cow", "hen")
        ]
        (tmp_path / "corpus" / split / f"{split}.json").write_text("\n".join(map(json.dumps, lines)))
    return tmp_path


def test_a_model_and_a_world_from_a_plugin_train_evaluate_and_export(plugin: Path) -> None:
    def run(*arguments: str) -> str:
        done = veriscene("--plugin", "farm_plugin", *arguments, cwd=plugin)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("train", "bag.toml", "--data", "corpus", "--world", "farm", "--out", "run", *settings("data.minimum_count=1"))
    assert json.loads(run("evaluate", "run", "corpus", "--json"))["examples"] == 4
    run("export", "run", "bag.onnx")
    (plugin / "scene.json").write_text(json.dumps([[], [{"x": 40, "y": 16, "animal": "hen"}]]))
    asked = ("--statement", "There is a hen.", "--scene", "scene.json", "--json")
    torch, onnx = (json.loads(run("predict", model, *asked)) for model in ("run", "bag.onnx"))
    assert torch["probability"] == pytest.approx(onnx["probability"], abs=1e-5)


def test_a_package_may_contain_its_world_as_a_file(plugin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(plugin))
    for package, name in (("barn_plugin", "barn"), ("rival_plugin", "nlvr")):
        (plugin / package).mkdir()
        (plugin / package / "__init__.py").write_text("def draw_example(rng, kind): ...")
        (plugin / package / "world.toml").write_text(WORLD.replace("farm", name))
    load_plugin("barn_plugin")
    assert worlds.ability(worlds.get("barn"), "draw_example") is not None
    with pytest.raises(InputError, match=r"^plug-in rival_plugin: .*'nlvr'"):
        load_plugin("rival_plugin")


@pytest.mark.parametrize("stated", ["Config", "summary"])
def test_a_model_that_lacks_what_models_state_is_refused(
    plugin: Path, stated: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(plugin))
    (plugin / f"no_{stated}.py").write_text(re.sub(f"^    {stated} = .*", "", MODULE, flags=re.MULTILINE))
    with pytest.raises(InputError, match=rf"\bBag .*\b{stated}\b"):
        load_plugin(f"no_{stated}")


def test_a_plugin_is_known_by_its_names(plugin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(plugin))
    monkeypatch.setattr("veriscene.models.MODELS", {**MODELS})
    load_plugin("farm_plugin")
    assert worlds.get("farm").box.singular == "box"
    for name in ("no_such_plugin", "./farm_plugin", ""):
        with pytest.raises(InputError):
            load_plugin(name)
    (plugin / "torn_plugin.py").write_text("MODEL = (")
    with pytest.raises(InputError, match=r"torn_plugin\.py.*\b1\b"):
        load_plugin("torn_plugin")
    with pytest.raises(InputError):
        load_plugin("json")


def test_a_plugin_that_raises_is_one_line_with_its_name_the_exception_and_the_place(plugin: Path) -> None:
    (plugin / "broken_plugin").mkdir()
    (plugin / "broken_plugin" / "__init__.py").write_text("from broken_plugin import parts")
    (plugin / "broken_plugin" / "parts.py").write_text("import json\n\nSIZES = json.loads('{')\n")
    done = veriscene("--plugin", "broken_plugin", "models", cwd=plugin)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    for told in ("plug-in broken_plugin", "parts.py:3:", "JSONDecodeError"):
        assert told in done.stderr
