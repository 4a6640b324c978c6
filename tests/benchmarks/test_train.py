"""`veriscene bench train`: both sides take their turns, what is told, and a corpus that is too small is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from accelerate import Accelerator
from typer.testing import CliRunner

from samples import write_corpus, yellow_circle_examples
from scripts import script
from veriscene.cli import bench as cli_bench
from veriscene.cli import output as cli_output
from veriscene.errors import InputError

bench = script("train")


def test_both_sides_take_their_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "SECONDS_A_TURN", 0.2)
    asked_for, our_step = [], bench._our_step
    monkeypatch.setattr(
        bench, "_our_step", lambda model, config, *rest: (asked_for.append(config), our_step(model, config, *rest))[1]
    )
    result = bench.compare(
        "biatt-pointer", yellow_circle_examples(9), batch=4, repeats=1, accelerator=Accelerator(cpu=True)
    )
    assert result.ratio == pytest.approx(result.ours.examples_per_second / result.plain.examples_per_second)
    assert 0.1 < result.gigaflop_an_example < 10
    assert 0 < result.share_of_peak < 1
    assert asked_for
    for config in asked_for:  # plain reads an example once, in full precision, by the corners of its items
        assert (config.training.agreement, config.training.precision) == (0, "tf32")
        assert config.model.coordinates == "corner"


def test_each_step_is_told_and_what_is_not_measured_on_a_cpu_is_null(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "SECONDS_A_TURN", 0.0)
    monkeypatch.setattr(cli_bench, "_load", lambda name: bench)
    monkeypatch.setattr(cli_bench, "accelerator", lambda: Accelerator(cpu=True))
    monkeypatch.setattr(cli_output, "SECONDS_BETWEEN_LINES", -1.0)
    corpus = write_corpus(tmp_path, yellow_circle_examples(9), yellow_circle_examples(9))
    arguments = ["--data", str(corpus), "--preset", "biatt", "--batch", "4", "--repeats", "1", "--json"]
    told = CliRunner().invoke(cli_bench.bench, ["train", *arguments])
    steps = 2 * 2 * bench.STEPS_AT_ONCE + bench.COUNTED_STEPS
    assert told.stderr.splitlines() == [f"biatt, batch 4 (steps): {n} of {steps}" for n in range(steps)]
    (result,) = json.loads(told.stdout, parse_constant=pytest.fail)["train"]
    assert result["ours"]["peak_memory_gb"] is result["whole_corpus_epoch_seconds"] is None
    speeds = {side: bench.Speed(**result[side]) for side in ("plain", "ours")}
    described = bench.describe(bench.Comparison(**{**result, **speeds}))
    assert "ms a step" in described and "nan" not in described and "None" not in described


def test_a_batch_larger_than_the_corpus_is_refused() -> None:
    with pytest.raises(InputError, match="only 9 train examples"):
        bench.compare("biatt", yellow_circle_examples(9), batch=10, repeats=1, accelerator=Accelerator(cpu=True))
