from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from samples import yellow_circle_examples
from veriscene import models
from veriscene.config import Config, ModelConfig
from veriscene.errors import InputError
from veriscene.tensors.vocabulary import Vocabulary
from veriscene.training import checkpoint as checkpoints
from veriscene.training.checkpoint import Checkpoint

EXAMPLES = yellow_circle_examples(8)


def fresh(seed: int = 0) -> Checkpoint:
    torch.manual_seed(seed)
    config = Config(model=ModelConfig(name="biatt-pointer", embedding=4, hidden=3, item=4, joint=6, mlp=5))
    vocabulary = Vocabulary.of((example.statement for example in EXAMPLES), minimum_count=1)
    model = models.build(config.model, vocabulary=vocabulary).eval()
    return Checkpoint(model, config, vocabulary, {"dev_accuracy": 0.5})


def test_a_loaded_checkpoint_judges_as_the_saved_one_did(tmp_path: Path) -> None:
    saved = fresh()
    checkpoints.save(tmp_path / "best", saved)
    for name in (tmp_path / "best", tmp_path, str(tmp_path)):  # the folder itself, or the run that holds it
        loaded = checkpoints.load(name)
        assert (loaded.config, loaded.vocabulary, loaded.metrics) == (saved.config, saved.vocabulary, saved.metrics)
        assert torch.equal(loaded.model(loaded.encode(EXAMPLES)).logits, saved.model(saved.encode(EXAMPLES)).logits)
    assert len({file.stat().st_mode for file in (tmp_path / "best").iterdir()}) == 1  # who may read one may read all


def test_half_precision_halves_the_file_and_is_read_back_in_full(tmp_path: Path) -> None:
    saved = fresh()
    for name, half in (("whole", False), ("half", True)):
        checkpoints.save(tmp_path / name, saved, half=half)
    loaded = checkpoints.load(tmp_path / "half")
    for name, weight in loaded.model.state_dict().items():
        assert weight.dtype == torch.float32
        torch.testing.assert_close(weight, saved.model.state_dict()[name], atol=1e-3, rtol=1e-3)
    header, whole, half = 8192, *((tmp_path / n / "model.safetensors").stat().st_size for n in ("whole", "half"))
    assert half < whole and abs(whole - 2 * half) < header


def test_shipped_checkpoints_answer_to_their_names_and_aliases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints.resources, "files", lambda package: tmp_path)
    assert checkpoints.shipped_checkpoints() == {}
    checkpoints.save(tmp_path / "checkpoints" / "one", fresh())
    (tmp_path / "checkpoints" / "aliases.json").write_text('{"best": "one"}', encoding="utf-8")
    assert sorted(checkpoints.shipped_checkpoints()) == ["best", "one"]
    for name in ("one", "best"):
        assert checkpoints.load(name).metrics == {"dev_accuracy": 0.5}
    with pytest.raises(InputError, match="one of best, one"):
        checkpoints.load("worst")


def test_a_failed_save_leaves_the_old_folder_whole(tmp_path: Path) -> None:
    checkpoints.save(tmp_path / "best", fresh(1))
    before = {path.name: path.read_bytes() for path in (tmp_path / "best").iterdir()}

    def power_cut(folder: Path) -> None:
        raise MemoryError("power cut")

    with pytest.raises(MemoryError):
        checkpoints.save(tmp_path / "best", fresh(2), also=power_cut)
    assert {path.name: path.read_bytes() for path in (tmp_path / "best").iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["best"]


def test_a_crash_between_the_two_renames_loses_nothing(tmp_path: Path) -> None:
    checkpoints.save(tmp_path / "best", fresh(1))
    (tmp_path / "best").rename(tmp_path / "best.previous")
    assert checkpoints.load(tmp_path).metrics == {"dev_accuracy": 0.5}


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("model.safetensors", b"", "damaged"),
        ("model.safetensors", b"\x80\x04pickle", "damaged"),
        ("config.json", b"{", "not JSON"),
        ("config.json", b'{"model_type": "bert"}', "not a veriscene configuration"),
        ("config.json", b'{"format": 1, "model": {"name": "gpt"}}', "unknown model 'gpt'"),
        ("config.json", b'{"format": 1, "model": {"layers": 3}}', "unknown key model.layers"),
        ("config.json", b'{"format": 1, "model": {"hidden": -3}}', "must be from 1 to"),
        ("config.json", b'{"format": 2}', "another version"),
        ("config.json", b'{"format": 1, "model": {"hidden": 4}}', "does not fit"),
        ("vocabulary.json", b'{"a": 1}', "list of words"),
        ("vocabulary.json", b"\xff", "not UTF-8"),
        ("vocabulary.json", None, "vocabulary.json is missing"),
        ("model.safetensors", None, "model.safetensors is missing"),
    ],
)
def test_a_damaged_or_foreign_folder_gets_one_clear_line(
    file: str, content: bytes | None, message: str, tmp_path: Path
) -> None:
    checkpoints.save(tmp_path, fresh()) if not any(tmp_path.iterdir()) else None
    path = tmp_path / file
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError) as error:
        checkpoints.load(tmp_path)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_an_unknown_name_says_what_is_possible(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no such model; give .*a folder"):
        checkpoints.load("nonsense")
    with pytest.raises(InputError, match="not a checkpoint"):
        checkpoints.load(tmp_path)


def test_the_configuration_is_plain_json(tmp_path: Path) -> None:
    checkpoints.save(tmp_path / "c", fresh())
    assert json.loads((tmp_path / "c" / "config.json").read_text())["model"]["name"] == "biatt-pointer"
