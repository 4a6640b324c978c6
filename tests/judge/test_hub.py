"""Judges are saved, pushed and loaded as Hugging Face models, without loss; nothing here needs a network."""

from __future__ import annotations

import errno
import os
import pickle
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import yaml
from huggingface_hub import HfApi, ModelCard
from huggingface_hub.errors import LocalEntryNotFoundError, RepositoryNotFoundError
from safetensors.torch import load_file

import veriscene
from small_models import EXAMPLES, STATEMENT, judge_of, small_checkpoint
from veriscene import models
from veriscene.config import presets
from veriscene.errors import InputError
from veriscene.judge import folders
from veriscene.judge.card import training_command
from veriscene.judge.checkpoint import TorchJudge
from veriscene.judge.evaluate import evaluate
from veriscene.judge.folders import FILES, METRICS, WEIGHTS
from veriscene.judge.judge import Judge
from veriscene.metrics.accuracy import Scores
from veriscene.models import load_preset
from veriscene.models.settings import with_effect

CARD = "README.md"
SCORES = Scores(0.75, (0.701, 0.803), 0.4, 40, 10)


@pytest.mark.parametrize("name", ["biatt-pointer", "mlp", "cnn-rnn"])
def test_a_saved_judge_gives_bit_identical_verdicts(name: str, tmp_path: Path) -> None:
    judge = TorchJudge(replace(small_checkpoint(name), metrics={"supervision": "labels", "dev_accuracy": 0.5}))
    judge.save_pretrained(tmp_path / "saved")
    assert {path.name for path in (tmp_path / "saved").iterdir()} == {*FILES, CARD}
    loaded = Judge.from_pretrained(tmp_path / "saved")
    assert isinstance(loaded, TorchJudge) and loaded.checkpoint.metrics == judge.checkpoint.metrics
    assert loaded(EXAMPLES) == judge(EXAMPLES) == veriscene.load(tmp_path / "saved")(EXAMPLES)
    assert pickle.loads(pickle.dumps(loaded))(EXAMPLES[:3]) == judge(EXAMPLES[:3])


def test_a_judge_shares_the_weights_of_its_checkpoint() -> None:
    checkpoint = small_checkpoint("biatt")
    assert TorchJudge(checkpoint).checkpoint.model is checkpoint.model
    assert "_hub_mixin_config" not in vars(TorchJudge(checkpoint))  # a copy of the weights, if the mixin had its way


def test_saving_replaces_the_model_and_keeps_other_files(tmp_path: Path) -> None:
    TorchJudge(small_checkpoint("biatt")).save_pretrained(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / CARD).write_text("edited")
    judge = TorchJudge(small_checkpoint("bidaf"))
    judge.save_pretrained(tmp_path)
    assert Judge.from_pretrained(tmp_path)(EXAMPLES) == judge(EXAMPLES)
    assert (tmp_path / "notes.txt").read_text() == "mine" and (tmp_path / CARD).read_text() == "edited"
    assert {path.name for path in tmp_path.iterdir()} == {*FILES, CARD, "notes.txt"}


def test_an_interrupted_save_is_not_mistaken_for_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    TorchJudge(small_checkpoint("biatt")).save_pretrained(tmp_path)
    move = Path.replace

    def fail_after_weights(path: Path, target: Path) -> Path:
        if path.name == METRICS:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return move(path, target)

    monkeypatch.setattr(Path, "replace", fail_after_weights)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        TorchJudge(small_checkpoint("biatt", pooling="joint")).save_pretrained(tmp_path)
    with pytest.raises(InputError) as refused:
        Judge.from_pretrained(tmp_path)
    assert refused.value.where == tmp_path and not list(tmp_path.glob(".partial-*"))


def test_judges_without_a_checkpoint_cannot_be_saved(tmp_path: Path) -> None:
    onnx, seeing = judge_of("onnx", "bienc"), veriscene.load("best-pixels")
    judge_of("torch", "biatt").save_pretrained(tmp_path / "saved")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for judge in (onnx, seeing):
        with pytest.raises(InputError):
            judge.save_pretrained(tmp_path / "saved")
    with pytest.raises(InputError) as refused:
        judge_of("torch", "biatt").save_pretrained(tmp_path / "saved" / CARD)
    assert refused.value.where == tmp_path / "saved" / CARD
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


# ---------------------------------------------------------------- the hub


def test_pushing_uploads_the_folder_with_a_card_of_that_name(monkeypatch: pytest.MonkeyPatch) -> None:
    judge, uploaded = TorchJudge(small_checkpoint("biatt-pointer")), {}

    def create_repo(api: HfApi, repo_id: str, **options: Any) -> SimpleNamespace:
        assert options["private"] is True
        return SimpleNamespace(repo_id=repo_id)

    def upload_folder(api: HfApi, *, repo_id: str, folder_path: Path, **options: Any) -> str:
        uploaded.update({path.name: path.read_bytes() for path in Path(folder_path).iterdir()}, repo=repo_id)
        assert Judge.from_pretrained(folder_path)(EXAMPLES) == judge(EXAMPLES)
        return "https://huggingface.co/me/mine/commit/1"

    monkeypatch.setattr(HfApi, "create_repo", create_repo)
    monkeypatch.setattr(HfApi, "upload_folder", upload_folder)
    assert judge.push_to_hub("me/mine", private=True).endswith("/commit/1")
    assert uploaded.keys() == {*FILES, CARD, "repo"} and uploaded["repo"] == "me/mine"
    assert 'veriscene.load("me/mine")' in uploaded[CARD].decode()


def test_a_repository_is_loaded_like_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judge, asked = TorchJudge(small_checkpoint("biatt-pointer")), []
    judge.save_pretrained(tmp_path / "snapshot")

    def snapshot(repository: str, **options: Any) -> str:
        asked.append((repository, options.get("revision")))
        assert sorted(options["allow_patterns"]) == sorted(folders.DOWNLOADED)
        return str(tmp_path / "snapshot")

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    monkeypatch.chdir(tmp_path)
    assert veriscene.load("owner/name")(EXAMPLES) == judge(EXAMPLES)
    assert Judge.from_pretrained("owner/name", revision="v1")(EXAMPLES) == judge(EXAMPLES)
    assert veriscene.load("owner/name", eyes=True)(STATEMENT, EXAMPLES[0].scene).probability > 0
    assert asked == [("owner/name", None), ("owner/name", "v1"), ("owner/name", None)]
    # A path whose first folder exists is a path, and is never sent to the hub.
    (tmp_path / "runs").mkdir()
    for path in ("runs/typo", Path("owner/name"), "./owner/name", "/owner/name", "a/b/c", "name"):
        assert not folders.is_repository(path)
        with pytest.raises(InputError) as refused:
            veriscene.load(path)
        assert refused.value.where == Path(path)
    assert len(asked) == 3


@pytest.mark.parametrize(
    ("error", "named"),
    [
        (LocalEntryNotFoundError("Got: …\nAn error happened"), "cache"),
        (RepositoryNotFoundError.__new__(RepositoryNotFoundError), "`hf auth login`"),
        (RuntimeError("proxy\nrefused"), "(proxy)"),
    ],
)
def test_hub_failures_are_one_line(error: Exception, named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def snapshot(repository: str, **options: Any) -> str:
        raise error

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    with pytest.raises(InputError) as caught:
        veriscene.load("nobody/nothing")
    assert str(caught.value.where).startswith("nobody/nothing")
    assert named in str(caught.value) and "\n" not in str(caught.value)


# ---------------------------------------------------------------- the card


def test_the_card_states_accuracy_interval_supervision_and_limits() -> None:
    checkpoint = replace(small_checkpoint("biatt-pointer"), metrics={"supervision": "synthetic", "step": 125})
    card = TorchJudge(checkpoint).generate_model_card(scores={"dev": SCORES})
    header = yaml.safe_load(str(card).split("---\n")[1])
    assert header["license"] == "mit" and "nlvr" in header["tags"] and header["metrics"] == ["accuracy"]
    (result,) = header["model-index"][0]["results"]
    assert (
        result["metrics"][0]["value"] == 0.75
        and result["dataset"]["split"] == "dev"
        and "NLVR" not in result["dataset"]["name"]
    )
    text = card.text
    assert "| 75.0 | 40.0 | 70.1 to 80.3 |" in text and "| test" not in text
    assert "Supervision: synthetic" in text and "takes the box that fits best" in text and "@inproceedings" in text
    assert ModelCard(str(card)).data.to_dict() == card.data.to_dict()


def test_the_card_of_a_taught_model_names_the_programs_the_grammars_origin_and_letters() -> None:
    checkpoint = replace(small_checkpoint("spatial"), metrics={"supervision": "programs", "note": "It was stopped."})
    text = " ".join(TorchJudge(checkpoint).generate_model_card().text.split())
    assert "--data CORPUS --teacher PROGRAMS" in text and "PROGRAMS a file of statements with their programs." in text
    assert "grammar" not in text and "read by their letters" in text and "by statement. It was stopped. ##" in text
    config = replace(checkpoint.config, teacher=replace(checkpoint.config.teacher, statements=10))
    card = TorchJudge(replace(checkpoint, config=config)).generate_model_card()
    assert "taught it, too.\nTheir wordings were written with NLVR's train sentences" in card.text


def test_scores_in_a_notebook_are_those_of_the_metrics() -> None:
    judge = judge_of("torch", "biatt-pointer")
    right = sum(judge(e.statement, e.scene).verdict == e.label for e in EXAMPLES)
    assert evaluate(judge, EXAMPLES).accuracy == right / len(EXAMPLES)


@pytest.mark.parametrize("preset", sorted(presets()))
def test_the_training_command_of_a_card_has_exactly_its_settings(preset: str) -> None:
    changed = ["training.batch=77", "training.learning_rate=3e-5", "training.seed=9", "teacher.workers=3"]
    taught = load_preset(preset).teacher.statements > 0
    config = load_preset(preset, [*changed, *["teacher.grammar_scenes=7"] * taught])
    by_programs = preset.endswith("-programs")
    words = training_command(config, "programs" if by_programs else "synthetic" if taught else "labels").split()
    options = ["--data", "CORPUS", *["--teacher", "PROGRAMS"] * by_programs, "--seed", "9"]
    assert words[:2] == ["veriscene", "train"] and words[3 : 3 + len(options)] == options
    changes = words[4 + len(options) :: 2]
    assert taught or with_effect(changes, config.model, taught=False) == changes  # others are refused by `train`
    again = load_preset(words[2], [*changes, "training.seed=9"])
    fitted = models.MODELS[config.model.name].is_fitted
    assert again.model == config.model and (fitted or again.training == config.training)
    assert replace(again.teacher, workers=3) == config.teacher or not taught
    corpus = {"statements", "level", "corpus_seed"}  # of a generated one
    ours, theirs = ({k: v for k, v in vars(each.data).items() if k not in corpus} for each in (config, again))
    assert fitted or models.MODELS[config.model.name].order is models.Order.NONE or ours == theirs


def test_weights_are_saved_in_full_precision(tmp_path: Path) -> None:
    judge = TorchJudge.load("best")
    judge.save_pretrained(tmp_path)
    saved = load_file(tmp_path / WEIGHTS)
    assert all(torch.equal(tensor, saved[name]) for name, tensor in judge.checkpoint.model.state_dict().items())
