"""The model of docs/extending.md works as the guide says."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
import torch
from accelerate import Accelerator
from torch.testing import assert_close

from samples import vocabulary_of, write_corpus, yellow_circle_examples
from veriscene import models
from veriscene.serving import load
from veriscene.training import run

GUIDE = (Path(__file__).resolve().parent.parent / "docs" / "extending.md").read_text(encoding="utf-8")


def block(marker: str, language: str) -> str:
    found = re.search(rf"<!-- {marker} -->\n```{language}\n(.*?)```", GUIDE, re.DOTALL)
    assert found, f"the guide has no block marked {marker!r}"
    return found[1]


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The guide's model, added as the guide adds it."""
    path = tmp_path / "deep_sets.py"
    path.write_text(block("a model that the tests add", "python"), encoding="utf-8")
    spec = spec_from_file_location("deep_sets", path)
    assert spec and spec.loader
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "deep_sets", module)  # dataclasses look their module up
    spec.loader.exec_module(module)
    monkeypatch.setitem(models.MODELS, "deep-sets", module.DeepSets)
    yield


@pytest.mark.usefixtures("added")
def test_the_guides_model_is_trained_and_judges(tmp_path: Path) -> None:
    examples = yellow_circle_examples(80)
    corpus = write_corpus(tmp_path / "corpus", examples[:60], examples[60:])
    tree = tomllib.loads(block("a preset that the tests use", "toml"))
    config = models.read_config(tree | {"data": {"minimum_count": 1}}, where="the guide")
    folder, accelerator = tmp_path / "run", Accelerator(cpu=True)
    start = run.start(config, preset="deep-sets", data=corpus, folder=folder, accelerator=accelerator, quiet=True)
    with start as trainer:
        assert trainer.fit().position.finished
    verdict = load(folder)(examples[0].statement, examples[0].scene)
    assert verdict.per_box is not None and verdict.probability == pytest.approx(max(verdict.per_box))


@pytest.mark.usefixtures("added")
def test_the_guides_model_keeps_the_guides_rules() -> None:
    examples = yellow_circle_examples(5)
    config = models.read_config({"model": {"name": "deep-sets"}}, where="the guide")
    vocabulary = vocabulary_of(examples)
    model = models.build(config.model, vocabulary=vocabulary).eval()
    batch = models.encoder(config, vocabulary)(examples)
    alone = torch.cat([model(batch[number : number + 1]).logits for number in range(len(examples))])
    assert_close(model(batch).logits, alone)
