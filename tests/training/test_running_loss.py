"""A loss or gradient that is not finite names its step and its examples."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from samples import write_corpus, yellow_circle_examples
from veriscene.errors import InputError
from veriscene.training import step, train
from veriscene.training.optimization import Loss, objective
from veriscene.training.source import Epoch
from veriscene.training.spec import Spec
from veriscene.training.step import NotFinite, RunningLoss

SMALL = ("model.embedding=4", "model.hidden=4", "model.item=4", "training.batch=8", "data.minimum_count=1")
TEACHER = ("teacher.statements=40", "teacher.grammar_scenes=2", "teacher.workers=1")
CPU = torch.device("cpu")


def broken_at(number: int, what: str) -> Any:
    """The objective, but for one call, in which the loss or only its gradient is not finite."""
    calls = 0

    def broken(*given: Any, **options: Any) -> Loss:
        nonlocal calls
        loss, calls = objective(*given, **options), calls + 1
        if calls != number:
            return loss
        if what == "loss":
            return Loss(loss.surrogate * float("nan"), loss.comprehension * float("nan"))
        return replace(loss, surrogate=loss.surrogate + (loss.surrogate * 0).sqrt())

    return broken


@pytest.fixture(autouse=True)
def rarely_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loss is read when dev is scored, several steps after it broke."""
    monkeypatch.setattr(train, "REFRESH_SECONDS", 3600.0)
    monkeypatch.setattr(train, "ETA_STEPS", 10**9)


@pytest.mark.parametrize("what", ["loss", "gradient"])
def test_the_step_and_the_identifiers_of_its_batch_are_named(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = write_corpus(tmp_path / "corpus", yellow_circle_examples(40), yellow_circle_examples(8, seed=1))
    spec = Spec.of("bienc", data=corpus, changes=SMALL)
    monkeypatch.setattr(step, "objective", broken_at(3, what))
    with pytest.raises(InputError) as error:
        train.train(spec, tmp_path / "run")
    epoch = train.open_source(spec, corpus).epoch(0)
    named = ", ".join(epoch.names(epoch.steps[2]))
    assert error.value.where == tmp_path / "run" and "step 3," in error.value.what and named in error.value.what
    assert len(set(named.split(", "))) == 8
    assert set(named.split(", ")) < {example.identifier for example in yellow_circle_examples(40)}
    assert not (tmp_path / "run").exists()


def test_a_teachers_statements_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = Spec.of("bienc", changes=(*SMALL, *TEACHER))
    monkeypatch.setattr(step, "objective", broken_at(2, "gradient"))
    with pytest.raises(InputError, match=r"step 2, .*'.+', '.+', '.+', \d more"):
        train.train(spec, tmp_path / "run")


def test_many_names_are_cut_off_and_the_sum_goes_on_after_each_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step, "MAX_UNREAD_LOSSES", 3)
    loss = RunningLoss(1.0, CPU)
    epoch: Any = Epoch(None, [], lambda numbers: [f"{number}-0" for number in numbers.tolist()])  # type: ignore[arg-type]
    for _ in range(3):
        loss.add(torch.tensor(0.5), epoch, torch.arange(4))
    assert loss.is_full and loss.read() == 2.5 and not loss.is_full and loss.read() == 2.5
    loss.reset()
    loss.add(torch.tensor(0.5), epoch, torch.arange(4))
    loss.add(torch.tensor(float("inf")), epoch, torch.arange(70))
    loss.add(torch.tensor(float("nan")), epoch, torch.arange(4))
    with pytest.raises(NotFinite) as error:
        loss.read()
    assert error.value.steps == 1 and error.value.names.endswith(", 63-0 and 6 more")
