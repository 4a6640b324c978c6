"""`veriscene bench costs`: what varies one at a time, what is not measured on a CPU, and the plot."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch

from scripts import script
from veriscene.errors import InputError

bench = script("costs")
TINY = bench.Plan((3, 6), (1, 9), (4, 8), base_words=3, base_items=2, base_hidden=8)  # NLVR has no box of 9 items


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "SECONDS_PER_TURN", 0.0)


def test_one_thing_varies_at_a_time_and_a_larger_model_has_more_parameters() -> None:
    costs = bench.measure("biatt-pointer", bench.device_named("cpu"), batch=2, plan=TINY)
    cases = {axis: [cost.case for cost in costs.along(axis)] for axis in bench.AXES}
    assert [case.words for case in cases["words"]] == [3, 6]
    assert [case.items for case in cases["items"]] == [1, 2, 9]
    assert all(case.words == 3 and case.hidden == 8 for case in cases["items"])
    small, large = costs.along("hidden")
    assert small.parameters < large.parameters and small.seconds_a_million > 0
    assert costs.batch == 2 and small.peak_memory_gb is None and not costs.memory_exponents
    assert json.loads(json.dumps(asdict(costs)), parse_constant=pytest.fail)["time_exponents"].keys() == cases.keys()
    assert "None" not in bench.describe(costs)


@pytest.mark.parametrize("preset", bench.PRESETS)
def test_no_case_has_more_weights_than_a_model_may_have(preset: str) -> None:
    usual, largest = bench.models.load_preset(preset), max(bench.Plan().hidden)
    config = bench._configuration(preset, usual, bench.Case(12, 8, largest))
    assert config.model.hidden == largest
    bench.models.check(config.model, bench.WORLD)


def test_the_exponent_is_that_of_a_power() -> None:
    base = bench.Case(1, 1, 1)
    line = [bench.Cost(replace(base, words=n), 1, 5.0 * n**2, None) for n in (1, 3, 7)]
    assert bench._exponents({"words": line}, "seconds_a_million") == {"words": 2.0}


def test_the_plot_of_the_same_figures_is_the_same_file(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    cases = [bench.Case(1, 1, 1), *(bench.Case(*(1 + (k == n) for k in range(3))) for n in range(3))]
    measured = tuple(bench.Cost(case, 1, 2.0, 0.5) for case in cases)
    costs = bench.Costs("biatt-pointer", 2, "a GPU", None, cases[0], measured, {}, {})
    for name in ("one.svg", "two.svg", "one.png"):
        bench.plot([costs, costs], tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")


def test_what_cannot_be_measured_or_written_is_refused_in_one_line(tmp_path: Path) -> None:
    device = bench.device_named("cpu")
    for refused in (
        lambda: bench.measure("maxent", device),
        lambda: bench.device_named("tpu"),
        lambda: bench.check_plot(tmp_path / "plot.gif"),
        lambda: bench.check_plot(tmp_path / "none" / "plot.svg"),
    ):
        with pytest.raises(InputError):
            refused()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_says_what_can_be_tried() -> None:
    with pytest.raises(InputError) as caught:
        bench.device_named("cuda")
    assert "--device cpu" in str(caught.value)


@pytest.mark.gpu
@pytest.mark.parametrize("preset", bench.PRESETS)
def test_a_gpu_needs_more_memory_for_more_words(preset: str) -> None:
    plan = replace(TINY, words=(3, 96), base_hidden=64)
    costs = bench.measure(preset, bench.device_named("cuda"), batch=64, plan=plan)
    short, long = costs.along("words")
    assert 0 < short.peak_memory_gb < long.peak_memory_gb and costs.memory_exponents.keys() == bench.AXES.keys()
