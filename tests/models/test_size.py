"""Models may be much larger than the paper's, but not take all memory."""

from __future__ import annotations

import pytest

from samples import yellow_circle_examples
from veriscene import models
from veriscene.config import SIZES, load_preset, presets
from veriscene.errors import InputError
from veriscene.models import size
from veriscene.models.mlp import MLP
from veriscene.tensors.batch import encode
from veriscene.tensors.vocabulary import Vocabulary


@pytest.mark.parametrize("preset", sorted(presets()))
def test_twice_the_usual_sizes_are_allowed(preset: str) -> None:
    usual = load_preset(preset).model
    read = [name for name in SIZES if name in models.settings_read(usual)]
    models.check(load_preset(preset, [f"model.{name}={2 * getattr(usual, name)}" for name in read]).model)


def test_a_slip_of_the_finger_is_refused_before_it_takes_memory() -> None:
    slip = load_preset("bienc", ["model.hidden=4096"]).model
    with pytest.raises(InputError, match=r"bienc would have 3\d\d,.* weights; at most 100,000,000 .*model.hidden=4096"):
        models.check(slip)


def test_what_grows_with_the_corpus_is_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    examples = yellow_circle_examples(20)
    vocabulary = Vocabulary.of((example.statement for example in examples), minimum_count=1)
    model = MLP(words=vocabulary, embedding=7)
    monkeypatch.setattr(size, "MOST_WEIGHTS", 1000)
    with pytest.raises(InputError, match=r"mlp with model.embedding=7 for each of .* features .* lower it"):
        model.prepare(encode(examples, vocabulary))
