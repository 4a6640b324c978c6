"""Weights files: half precision without overflow, and one clear line for a file that is missing or wrong."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from tiny import DEPTHS, WIDTH, randomize
from torch.testing import assert_close

from veriscene import files
from veriscene.errors import InputError
from veriscene.models.vision.backbone import (
    PRETRAINED,
    ResNetV1,
    check_weights_file,
    load_weights,
    save_weights,
    weights_path,
)

NAME = "resnet50-rendered"
make = partial(ResNetV1, size=160, stride=16, depths=DEPTHS, width=WIDTH)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VERISCENE_CACHE", str(tmp_path))
    return tmp_path


def test_weights_and_statistics_survive_in_half_precision() -> None:
    saved = randomize(make())
    saved.get_buffer("norm1.running_var").fill_(83_614.7)  # as in Keras's ResNet-50: too large for half precision
    saved.train()(torch.zeros(2, 100, 100, 3, dtype=torch.uint8))  # counts a batch
    save_weights(saved, weights_path(NAME), metadata={"sha256": "abc"})
    loaded = make()
    load_weights(loaded, NAME)
    for name, tensor in loaded.state_dict().items():
        assert_close(tensor, saved.state_dict()[name], rtol=1e-3, atol=1e-7)
    stored = load_file(weights_path(NAME))
    assert {name for name, tensor in stored.items() if tensor.dtype is torch.float32} == {"norm1.running_var"}
    with safe_open(weights_path(NAME), framework="pt") as file:
        assert file.metadata()["sha256"] == "abc"


@pytest.mark.parametrize("name", PRETRAINED)
def test_a_missing_file_is_named_with_the_command_that_makes_it(name: str) -> None:
    with pytest.raises(InputError) as raised:
        check_weights_file(name)
    assert raised.value.where == weights_path(name) and raised.value.allowed == PRETRAINED[name]
    assert "`veriscene " in PRETRAINED[name] and "\n" not in str(raised.value)


def test_a_backbone_without_pretrained_weights_needs_no_file() -> None:
    check_weights_file("convolutions")
    with pytest.raises(InputError, match="resnet50-imagenet"):
        weights_path("convolutions")


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (lambda weights: weights.pop("norm1.bias"), r"norm1\.bias"),
        (lambda weights: weights.update(other=torch.zeros(1)), r"\bother\b"),
        (lambda weights: weights.update({"conv1.bias": torch.zeros(9)}), r"conv1\.bias .*\b9 .*\b4"),
        (lambda weights: weights.update({"conv1.bias": torch.zeros(4).int()}), r"conv1\.bias .*int32"),
        (lambda weights: weights["conv1.bias"].fill_(torch.nan), r"conv1\.bias .*finite"),
    ],
)
def test_weights_that_do_not_fit_are_one_clear_line(damage, named: str) -> None:
    save_weights(make(), weights_path(NAME), metadata={})
    weights = load_file(weights_path(NAME))
    damage(weights)
    save_file(weights, weights_path(NAME))
    network = make()
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    with pytest.raises(InputError, match=named) as raised:
        load_weights(network, NAME)
    assert raised.value.where == weights_path(NAME) and raised.value.allowed == PRETRAINED[NAME]
    assert "\n" not in str(raised.value)
    assert all(torch.equal(tensor, before[name]) for name, tensor in network.state_dict().items())


def test_a_truncated_file_is_one_clear_line() -> None:
    save_weights(make(), weights_path(NAME), metadata={})
    content = weights_path(NAME).read_bytes()
    for length in (0, 5, len(content) // 2, len(content) - 1):
        weights_path(NAME).write_bytes(content[:length])
        with pytest.raises(InputError) as raised:
            load_weights(make(), NAME)
        assert raised.value.where == weights_path(NAME) and "\n" not in str(raised.value)


def test_the_cache_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    assert files.cache_folder() == cache
    monkeypatch.delenv("VERISCENE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert files.cache_folder() == Path("/somewhere/veriscene")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert files.cache_folder() == Path.home() / ".cache" / "veriscene"

    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    assert files.cache_folder().is_relative_to(tempfile.gettempdir())
