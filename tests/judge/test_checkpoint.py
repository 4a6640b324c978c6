"""Checkpoints: written completely or not at all, checked when they are loaded."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.testing import assert_close

from samples import fresh_checkpoint, yellow_circle_examples
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.judge import folders
from veriscene.judge.checkpoint import Checkpoint
from veriscene.models import MODELS

EXAMPLES = yellow_circle_examples(8)


def fresh(name: str = "biatt-pointer") -> Checkpoint:
    checkpoint = fresh_checkpoint(name, EXAMPLES)
    if MODELS[name].is_fitted or name == "mlp":
        checkpoint.model.prepare(checkpoint.encode(EXAMPLES))
    checkpoint.metrics["dev_accuracy"] = 0.5
    return checkpoint


def contents_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_checkpoint_judges_as_the_saved_one(name: str, tmp_path: Path) -> None:
    saved = fresh(name)
    checkpoints.save(tmp_path / "best", saved)
    for place in (tmp_path / "best", tmp_path, str(tmp_path)):  # the folder itself, or the run that holds it
        loaded = checkpoints.load(place)
        assert (loaded.config, loaded.encoder, loaded.metrics) == (saved.config, saved.encoder, saved.metrics)
        assert torch.equal(loaded.model(loaded.encode(EXAMPLES)).logits, saved.model(saved.encode(EXAMPLES)).logits)
    assert len({file.stat().st_mode for file in (tmp_path / "best").iterdir()}) == 1


def test_half_precision_halves_the_file_and_is_loaded_as_float32(tmp_path: Path) -> None:
    saved = fresh()
    for name, half in (("whole", False), ("half", True)):
        checkpoints.save(tmp_path / name, saved, half=half)
    loaded = checkpoints.load(tmp_path / "half")
    for name, weight in loaded.model.state_dict().items():
        assert weight.dtype == torch.float32
        assert_close(weight, saved.model.state_dict()[name], atol=1e-3, rtol=1e-3)
    header, whole, half = 8192, *((tmp_path / n / "model.safetensors").stat().st_size for n in ("whole", "half"))
    assert half < whole and abs(whole - 2 * half) < header


def test_shipped_checkpoints_are_found_by_name_and_alias(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders.resources, "files", lambda package: tmp_path)
    assert folders.shipped_checkpoints() == {}
    checkpoints.save(tmp_path / "checkpoints" / "one", fresh())
    (tmp_path / "checkpoints" / "aliases.json").write_text('{"best": "one"}', encoding="utf-8")
    assert sorted(folders.shipped_checkpoints()) == ["best", "one"]
    for name in ("one", "best"):
        assert checkpoints.load(name).metrics == {"dev_accuracy": 0.5}
    with pytest.raises(InputError) as refused:
        checkpoints.load("worst")
    assert "best, one" in str(refused.value.allowed)


def test_a_failed_save_leaves_the_old_folder(tmp_path: Path) -> None:
    checkpoints.save(tmp_path / "best", fresh())
    before = contents_of(tmp_path / "best")

    def power_cut(folder: Path) -> None:
        raise MemoryError("power cut")

    with pytest.raises(MemoryError):
        checkpoints.save(tmp_path / "best", fresh("biatt"), also=power_cut)
    assert contents_of(tmp_path / "best") == before
    assert [path.name for path in tmp_path.iterdir()] == ["best"]


def test_a_crash_between_the_two_renames_loses_nothing(tmp_path: Path) -> None:
    checkpoints.save(tmp_path / "best", fresh())
    (tmp_path / "best").rename(tmp_path / "best.previous")
    assert checkpoints.load(tmp_path).metrics == {"dev_accuracy": 0.5}


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("file", "content", "named"),
    [
        ("model.safetensors", b"", ""),
        ("model.safetensors", b"\x80\x04pickle", ""),
        ("model.safetensors", None, ""),
        ("config.json", b"{", "JSON"),
        ("config.json", b"[]", "configuration"),
        ("config.json", b'{"model_type": "bert"}', "configuration"),
        ("config.json", b'{"format": 2, "model": {"name": "gpt"}}', "'gpt'"),
        ("config.json", b'{"format": 1, "model": {"name": "biatt"}}', "version"),
        ("config.json", b'{"format": 2, "model": 3}', "model"),
        ("config.json", b'{"format": 2, "model": {"name": "biatt"}, "training": []}', "training"),
        ("config.json", b'{"format": 2, "model": {"name": ["biatt"]}}', "['biatt']"),
        ("config.json", b'{"format": 2, "model": {"name": "biatt", "layers": 3}}', "model.layers"),
        ("config.json", b'{"format": 2, "model": {"name": "biatt", "hidden": -3}}', "model.hidden=-3"),
        ("config.json", b'{"format": 3}', "version"),
        ("config.json", b'{"format": 2, "model": {"name": "biatt", "hidden": 4}}', "model.safetensors: "),
        ("vocabulary.json", b'{"a": 1}', "list"),
        ("vocabulary.json", b"[1, 2]", "list"),
        ("vocabulary.json", b"\xff", "UTF-8"),
        ("vocabulary.json", b"[]", "<pad> and <unk>"),
        ("vocabulary.json", b'["a", "b"]', "<pad> and <unk>"),
        ("vocabulary.json", b'["<unk>", "<pad>", "a"]', "<pad> and <unk>"),
        ("vocabulary.json", b'["<pad>", "<unk>", "a", "a"]', "'a'"),
        ("vocabulary.json", b'["<pad>", "<unk>", "<unk>"]', "'<unk>'"),
        ("vocabulary.json", None, ""),
    ],
)
def test_a_damaged_or_foreign_folder_is_one_line_that_names_the_file(
    file: str, content: bytes | None, named: str, tmp_path: Path
) -> None:
    checkpoints.save(tmp_path / "c", fresh("biatt"))
    path = tmp_path / "c" / file
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError) as error:
        checkpoints.load(tmp_path / "c")
    assert file in str(error.value) and named in str(error.value) and "\n" not in str(error.value)
    assert str(error.value).startswith(str(tmp_path / "c"))


@pytest.mark.parametrize("name", ["biatt-pointer", "maxent", "mlp"])
@pytest.mark.parametrize(
    "change",
    [
        lambda tensor: tensor * float("nan"),
        lambda tensor: tensor.flatten().index_fill(0, torch.tensor([0]), torch.inf).view_as(tensor),
        lambda tensor: tensor.double(),
        lambda tensor: tensor.long(),
        lambda tensor: tensor.bfloat16(),
    ],
    ids=["NaN", "infinity", "float64", "int64", "bfloat16"],
)
def test_weights_must_be_finite_and_of_the_right_type(
    change: Callable[[Tensor], Tensor], name: str, tmp_path: Path
) -> None:
    checkpoints.save(tmp_path / "c", fresh(name))
    path = tmp_path / "c" / "model.safetensors"
    whole = load_file(path)
    floats = [key for key, tensor in whole.items() if tensor.is_floating_point()]
    for key in (floats[0], floats[-1]):
        save_file({**whole, key: change(whole[key])}, path)
        with pytest.raises(InputError) as error:
            checkpoints.load(tmp_path / "c")
        assert error.value.where == str(path) and key in error.value.what and "\n" not in str(error.value)


def test_weights_of_other_names_or_shapes_are_refused(tmp_path: Path) -> None:
    checkpoints.save(tmp_path / "c", fresh("biatt"))
    path = tmp_path / "c" / "model.safetensors"
    whole = load_file(path)
    name, tensor = next(iter(whole.items()))
    missing = {key: value for key, value in whole.items() if key != name}
    for weights in (missing, {**whole, "extra": tensor + 1}, {**whole, name: tensor[None]}, {}):
        save_file(weights, path)
        with pytest.raises(InputError) as refused:
            checkpoints.load(tmp_path / "c")
        assert refused.value.where == path


LIMITED = """
import resource, sys, torch
from veriscene.errors import InputError
from veriscene.judge import checkpoint
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
try:
    checkpoint.load(sys.argv[1])
except InputError as error:
    print(error)
"""


@pytest.mark.parametrize("name", ["biatt-pointer", "relation-net"])
def test_a_huge_model_is_refused_before_memory_is_allocated(name: str, tmp_path: Path) -> None:
    checkpoints.save(tmp_path / "c", fresh(name))
    path = tmp_path / "c" / "config.json"
    tree = json.loads(path.read_text(encoding="utf-8"))
    tree["model"]["hidden"] = tree["model"]["joint"] = 16384
    path.write_text(json.dumps(tree), encoding="utf-8")
    command = [sys.executable, "-c", LIMITED, str(tmp_path / "c")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    assert line.startswith(f"{path}: ") and "model.hidden=16384" in line


def test_an_unknown_name_lists_what_is_possible(tmp_path: Path) -> None:
    with pytest.raises(InputError) as unknown:
        checkpoints.load("nonsense")
    assert all(name in str(unknown.value.allowed) for name in folders.shipped_checkpoints())
    with pytest.raises(InputError) as empty:
        checkpoints.load(tmp_path)
    assert (unknown.value.where, empty.value.where) == (Path("nonsense"), tmp_path)


@pytest.mark.parametrize("name", ["best", "biatt-pointer"])
def test_a_shipped_name_means_the_same_in_every_folder(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = fresh("bienc")
    checkpoints.save(tmp_path / name, own)  # a run folder holds `best`
    monkeypatch.chdir(tmp_path)
    assert folders.find(name) == folders.shipped_checkpoints()[name]
    for folder in (f"./{name}", Path(name), str(tmp_path / name)):
        assert checkpoints.load(folder).config == own.config
