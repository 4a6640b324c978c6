"""`veriscene bench train`: both sides take their turns, and a corpus that is too small is refused."""

from __future__ import annotations

import pytest
from accelerate import Accelerator

from samples import yellow_circle_examples
from scripts import script
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


def test_a_batch_larger_than_the_corpus_is_refused() -> None:
    with pytest.raises(InputError, match="only 9 train examples"):
        bench.compare("biatt", yellow_circle_examples(9), batch=10, repeats=1, accelerator=Accelerator(cpu=True))
