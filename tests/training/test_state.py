"""A damaged trainer state is one clear line, and the run stays as it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from samples import small_config, write_corpus, yellow_circle_examples
from veriscene.config import Config, TrainingConfig
from veriscene.errors import InputError
from veriscene.training.spec import Record, Spec
from veriscene.training.train import Result, train

State = dict[str, Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was stopped at step 4 of 12."""
    root = tmp_path_factory.mktemp("state")
    corpus = write_corpus(root / "corpus", yellow_circle_examples(32), yellow_circle_examples(8, seed=1))
    training = TrainingConfig(batch=8, epochs=3, ema=0.9)
    config = Config(model=small_config("bienc"), training=training)
    train(Spec(config, corpus=corpus), root / "run", stop_after=lambda line: line.step == 4)
    return root / "run"


def resume(folder: Path) -> Result:
    return train(Record.read(folder).spec, folder, resume=True)


def contents_of(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def position(**changes: object) -> Callable[[State], None]:
    return lambda state: state["position"].update(changes)


def moments(name: str, change: Callable[[torch.Tensor], object]) -> Callable[[State], None]:
    def damage(state: State) -> None:
        state["moments"][1][name] = change(state["moments"][1][name])

    return damage


def without(key: str, part: str | None = None) -> Callable[[State], None]:
    return lambda state: (state[part] if part else state).pop(key)


def renumbered(state: State) -> None:
    state["moments"] = {number + 1: value for number, value in state["moments"].items()}


DAMAGE: dict[str, Callable[[State], object]] = {
    "step is text": position(step="a"),
    "step is a fraction": position(step=2.5),
    "step is negative": position(step=-5),
    "step is beyond the end": position(step=10**12),
    "step is a flag": position(step=True),
    "best accuracy is -100": position(best_accuracy=-100.0),
    "best accuracy is 7": position(best_accuracy=7.0),
    "best accuracy is NaN": position(best_accuracy=float("nan")),
    "best step is after the step": position(best_step=9),
    "loss sum is NaN": lambda state: state["processes"][0].update(loss_sum=float("nan")),
    "loss sum is infinite": lambda state: state["processes"][0].update(loss_sum=float("inf")),
    "seconds are negative": position(seconds=-1.0),
    "position is incomplete": without("best_accuracy", "position"),
    "position is a list": lambda state: state.update(position=[4]),
    "moments are empty": lambda state: state["moments"].clear(),
    "moments are a list": lambda state: state.update(moments=[]),
    "one moment is missing": lambda state: state["moments"].pop(0),
    "moments of other parameters": renumbered,
    "moments have the wrong shape": moments("exp_avg", lambda tensor: tensor.flatten()[:1]),
    "moments are not tensors": moments("exp_avg_sq", lambda tensor: 3),
    "moments are NaN": moments("exp_avg_sq", lambda tensor: tensor * float("nan")),
    "moments are at another step": moments("step", lambda tensor: tensor + 1),
    "moments are at an infinite step": moments("step", lambda tensor: tensor + float("inf")),
    "a moment has no step": lambda state: state["moments"][1].pop("step"),
    "averages are missing": lambda state: state.update(ema=[]),
    "averages are NaN": lambda state: state["ema"][0].fill_(float("nan")),
    "averages have the wrong shape": lambda state: state["ema"].reverse(),
    "random state is of floats": lambda state: state["processes"][0].update(cpu=torch.rand(5056)),
    "random state is too short": lambda state: state["processes"][0].update(cpu=torch.zeros(7, dtype=torch.uint8)),
    "random state is missing": lambda state: state["processes"][0].clear(),
    "no moments": without("moments"),
    "no processes": without("processes"),
    "no data": without("data"),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_state_is_one_line_and_nothing_is_changed(damage: Callable[[State], object], folder: Path) -> None:
    path = folder / "last" / "trainer.pt"
    whole = path.read_bytes()
    state = torch.load(path, weights_only=True)
    assert state["position"]["step"] == 4
    damage(state)
    torch.save(state, path)
    before = contents_of(folder)
    try:
        with pytest.raises(InputError) as error:
            resume(folder)
        assert error.value.where == path and error.value.allowed is None and "\n" not in str(error.value)
        assert contents_of(folder) == before
    finally:
        path.write_bytes(whole)
    assert resume(folder).position.step == 4


@pytest.mark.parametrize("processes", [0, 2])
def test_a_state_of_another_number_of_processes_is_refused(processes: int, folder: Path) -> None:
    path = folder / "last" / "trainer.pt"
    whole = path.read_bytes()
    state = torch.load(path, weights_only=True)
    state["processes"] = state["processes"] * processes
    torch.save(state, path)
    try:
        with pytest.raises(InputError) as error:
            resume(folder)
        assert error.value.where == folder and f"{processes} processes" in error.value.what
    finally:
        path.write_bytes(whole)
