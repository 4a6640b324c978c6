"""Settings: one default each, errors that name key, value and what is allowed, and sizes that fit in memory."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import asdict, fields, replace

import pytest
import torch

from samples import vocabulary_of, yellow_circle_examples
from veriscene import models
from veriscene.config import presets
from veriscene.data.encoder import Encoder
from veriscene.data.vocabulary import SPECIAL, Vocabulary
from veriscene.errors import InputError
from veriscene.models import MODELS, base
from veriscene.models.mlp import MLP
from veriscene.worlds.nlvr.looks import WORLD

VOCABULARY = Vocabulary((*SPECIAL, "there", "is", "3"))
NAMES = sorted(MODELS)


@pytest.mark.parametrize("name", NAMES)
def test_only_the_config_of_a_model_has_defaults(name: str) -> None:
    config = MODELS[name].Config()  # type: ignore[call-arg]
    assert config.name == name
    settings = {key: value for key, value in asdict(config).items() if key != "name"}
    with torch.device("meta"):
        MODELS[name](vocabulary=VOCABULARY, world=WORLD, **settings)
        for key in settings:
            with pytest.raises(TypeError, match=key):
                MODELS[name](vocabulary=VOCABULARY, world=WORLD, **{k: v for k, v in settings.items() if k != key})


@pytest.mark.parametrize("name", NAMES)
def test_building_draws_the_random_numbers_of_the_constructor_and_no_others(name: str) -> None:
    config = MODELS[name].Config()  # type: ignore[call-arg]
    settings = {key: value for key, value in asdict(config).items() if key != "name"}
    torch.manual_seed(3)
    built, after = models.build(config, vocabulary=VOCABULARY, world=WORLD), torch.get_rng_state()
    torch.manual_seed(3)
    constructed = MODELS[name](vocabulary=VOCABULARY, world=WORLD, **settings)
    assert torch.equal(after, torch.get_rng_state())
    assert all(map(torch.equal, built.state_dict().values(), constructed.state_dict().values()))


@pytest.mark.parametrize("preset", sorted(presets()))
def test_presets_load_and_survive_json(preset: str) -> None:
    config = models.load_preset(preset)
    models.check_size(config.model, VOCABULARY, WORLD)
    assert models.read_config(config.to_json(), where="here") == config
    widths = [f.name for f in fields(config.model) if type(getattr(config.model, f.name)) is int]
    doubled = [f"model.{name}={2 * getattr(config.model, name)}" for name in widths]
    models.check_size(
        models.load_preset(preset, doubled).model, VOCABULARY, WORLD
    )  # twice the paper's sizes are allowed


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ("model.hidden=0", ["model.hidden=0", "from 1 to 16,384"]),
        ("model.hidden=20000", ["model.hidden=20000", "from 1 to 16,384"]),
        ("model.dropout=1.0", ["model.dropout=1.0", "below 1"]),
        ("training.batch=2.5", ["training.batch=2.5", "a whole number"]),
        ("training.batch=true", ["training.batch=True", "a whole number"]),
        ("training.batch=many", ["training.batch='many'", "a whole number"]),
        ("training.learning_rate=nan", ["training.learning_rate=nan", "from 1e-09 to 1.0"]),
        ("training.learning_rate=1" + 400 * "0", ["training.learning_rate=1000", "a number"]),
        ("training.learning_rate=1" + 5000 * "0", ["training.learning_rate='1000", "a number"]),
        ("training.batch=" + 5000 * "[", ["training.batch='[[[", "a whole number"]),
        ("data.order=backwards", ["data.order='backwards'", "one of random, file, sorted"]),
        ("model.coordinates=centre", ["model.coordinates='centre'", "one of corner, contact"]),
        ("model.pooling=lstm", ["model.pooling='lstm'", "one of max, mean"]),
        ("model.joint=64", ["unknown setting model.joint", "model.hidden"]),
        ("training.sharpness=0.1", ["unknown setting training.sharpness", "training.ema"]),
        ("model.name=bert", ["unknown model 'bert'", *NAMES]),
        ("model.name=[1]", ["unknown model [1]", *NAMES]),
        ("nonsense.key=1", ["unknown section nonsense", "data, model, teacher, training"]),
        ("training.batch", ["--set training.batch", "section.key=value"]),
        ("batch=3", ["--set batch=3", "section.key=value"]),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
def test_a_setting_that_is_not_allowed_is_one_line_with_key_value_and_what_is(change: str, parts: list[str]) -> None:
    with pytest.raises(InputError) as raised:
        models.load_preset("bienc", [change])
    line = str(raised.value)
    assert "\n" not in line and len(line) < 500
    assert all(part in line for part in parts), line


@pytest.mark.parametrize("tree", [[], {"model": 3}, {"model": {"name": "biatt"}, "data": [1]}, {}])
def test_a_configuration_of_another_form_is_an_input_error(tree: object) -> None:
    with pytest.raises(InputError) as refused:
        models.read_config(tree, where="config.json")
    assert refused.value.where == "config.json"


def test_unknown_names_are_answered_with_the_known_ones() -> None:
    with pytest.raises(InputError) as preset:
        models.load_preset("bert")
    with pytest.raises(InputError) as model:
        models.build(replace(models.load_preset("biatt").model, name="bert"), vocabulary=VOCABULARY, world=WORLD)
    assert all("'bert'" in e.value.what and "biatt-pointer" in str(e.value.allowed) for e in (preset, model))


BUILD_THE_LARGEST = """
import resource, sys
from dataclasses import fields
from veriscene import models
from veriscene.errors import InputError
from veriscene.data.vocabulary import SPECIAL, Vocabulary
from veriscene.worlds.nlvr.looks import WORLD

used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 28),) * 2)  # a quarter of the largest layer
for name, kind in models.MODELS.items():
    widths = (f for f in fields(kind.Config) if f.type == "int" and f.metadata["allowed"][1](16_384))
    largest = {f.name: 16_384 for f in widths}
    for attempt in (
        lambda config: models.check(config, WORLD),
        lambda config: models.build(config, vocabulary=Vocabulary(SPECIAL), world=WORLD),
    ):
        try:
            attempt(kind.Config(**largest))
        except InputError as error:
            assert "model.mlp=16384" in str(error) or "model.hidden=16384" in str(error), error
        else:
            assert not largest, name
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits memory by RLIMIT_AS")
def test_absurd_sizes_are_refused_before_memory_is_allocated() -> None:
    done = subprocess.run([sys.executable, "-c", BUILD_THE_LARGEST], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_weights_that_grow_with_the_corpus_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    examples = yellow_circle_examples(20)
    model = MLP(vocabulary=vocabulary_of(examples), world=WORLD, embedding=7, mlp=5)
    monkeypatch.setattr(base, "MOST_WEIGHTS", 1000)
    with pytest.raises(InputError) as refused:
        model.prepare(Encoder(vocabulary_of(examples), WORLD)(examples))
    assert "model.embedding=7" in refused.value.what and "model.embedding" in str(refused.value.allowed)
