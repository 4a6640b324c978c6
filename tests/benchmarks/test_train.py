"""`veriscene bench train`: all sides take turns, and progress, JSON and errors are as documented."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from accelerate import Accelerator

from samples import yellow_circle_examples
from scripts import script
from veriscene.errors import InputError

bench = script("train")


def test_ours_is_compared_with_the_faster_plain_side_on_the_same_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "SECONDS_PER_TURN", 0.2)
    configs, make_step = [], bench._make_step
    monkeypatch.setattr(
        bench, "_make_step", lambda model, config, *rest: (configs.append(config), make_step(model, config, *rest))[1]
    )
    result = bench.compare(
        "biatt-pointer", yellow_circle_examples(9), batch=4, repeats=1, accelerator=Accelerator(cpu=True)
    )
    plain = (result.plain.examples_per_second, result.plain_resident_examples_per_second)
    assert result.ratio == pytest.approx(result.ours.examples_per_second / max(plain))
    assert result.ratio_dataloader == pytest.approx(result.ours.examples_per_second / plain[0])
    assert 0.1 < result.gigaflop_an_example < 10
    assert 0 < result.share_of_peak < 1
    (config,) = configs  # the plain model makes one pass, in full precision, and reads the corners of items
    assert (config.training.r_drop, config.training.precision, config.training.batch) == (0, "tf32", 4)
    assert config.model.coordinates == "corner"


def test_progress_counts_every_step_and_what_a_cpu_does_not_measure_is_null(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "SECONDS_PER_TURN", 0.0)
    reported: list[tuple[int, int]] = []
    result = bench.compare(
        "biatt",
        yellow_circle_examples(9),
        batch=4,
        repeats=1,
        accelerator=Accelerator(cpu=True),
        progress=lambda done, total: reported.append((done, total)),
    )
    steps = 3 * 2 * bench.STEPS_BETWEEN_LOOKS + bench.COUNTED_STEPS
    assert reported == [(done, steps) for done in range(steps + 1)]
    as_json = json.loads(json.dumps(asdict(result)), parse_constant=pytest.fail)
    assert as_json["ours"]["peak_memory_gb"] is as_json["whole_corpus_epoch_seconds"] is None
    described = bench.describe(result)
    assert "ms per step" in described and "nan" not in described and "None" not in described


def test_a_batch_larger_than_the_corpus_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        bench.compare("biatt", yellow_circle_examples(9), batch=10, repeats=1, accelerator=Accelerator(cpu=True))
    assert caught.value.where == "--batch 10"
