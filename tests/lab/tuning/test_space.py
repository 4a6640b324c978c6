"""The search space is checked before anything starts, and an error says what would be right."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from rich.emoji import Emoji

from veriscene.config import presets
from veriscene.errors import InputError, MissingRequirement
from veriscene.lab.tuning import DEFAULT_SPACE
from veriscene.lab.tuning.space import Search, describe, read_space
from veriscene.models import load_preset

WRONG = {
    "training.learning_rate": "use section.key=low:high",
    "training.learning_rate=": "use section.key=low:high",
    "learning_rate=1:2": "use section.key=low:high",
    "training.learning_rate=0.02:0.01": "the lower end 0.02 must be below the upper end 0.01",
    "training.learning_rate=0.1:2": "training.learning_rate=2",
    "training.weight_decay=0:1:log": "with log the lower end must be above 0",
    "training.weight_decay=0:1:linear": "use section.key=low:high",
    "training.weight_decay=nan:1": "training.weight_decay=nan must be",
    "training.batch=16:64.5": "64.5 must be a whole number",
    "training.batch=16,many": "'many' must be a whole number",
    "training.batch=16,": "must be a whole number",
    "training.batch=64": "fix it with --set",
    "training.bacth=16,32": "training.bacth; choose from training.seed,",
    "optimizer.beta=1:2": "optimizer; choose from",
    "data.order=random:file": "list the choices: section.key=a,b,c",
    "data.order=random,backwards": "'backwards' must be",
    "model.dropout=0:1": "must be at least 0 and below 1",
    "model.pooling=max,most": "most",
    "model.penalty=1:2": "model.penalty",
    "training.policy_weight=0:1": "training.policy_weight has no effect on biatt",
    "teacher.scenes=1:64": "teacher.scenes has no effect without a teacher",
    "training.clip=1:5": "training.clip is also fixed by another option",
}


@pytest.mark.parametrize("line", WRONG)
def test_an_invalid_line_is_one_clear_error(line: str) -> None:
    with pytest.raises(InputError) as caught:
        read_space([line], preset="biatt", changes=["training.clip=5"])
    message = str(caught.value)
    assert message.startswith(f"--space {line}: ") and WRONG[line] in message and "\n" not in message


def test_a_setting_is_searched_once() -> None:
    with pytest.raises(InputError, match=r"model\.dropout is given twice"):
        read_space(["model.dropout=0:0.5", "model.dropout=0.1,0.2"], preset="biatt", changes=[])


def test_values_have_the_type_of_their_setting_and_survive_a_round_trip() -> None:
    lines = ["model.pooling=max,joint", "model.hidden=64:512:log", "model.dropout=0:0.5", "training.clip=1,5"]
    lines += ["model.letters=true,false", "teacher.grammar_scenes=2:64"]  # the grammar teaches in this preset
    space = read_space(lines, preset="spatial-synthetic", changes=[])
    assert space == {
        "model.pooling": CategoricalDistribution(("max", "joint")),
        "model.hidden": IntDistribution(64, 512, log=True),
        "model.dropout": FloatDistribution(0.0, 0.5),
        "training.clip": CategoricalDistribution((1.0, 5.0)),
        "model.letters": CategoricalDistribution((True, False)),
        "teacher.grammar_scenes": IntDistribution(2, 64),
    }
    taught = ["teacher.grammar_scenes=2:64", "teacher.statements=10:20"]  # in every trial, though not in the preset
    assert read_space(taught, preset="biatt", changes=[]).keys() == {"teacher.grammar_scenes", "teacher.statements"}
    again = [f"{key}={describe(values)}" for key, values in space.items()]
    assert read_space(again, preset="spatial-synthetic", changes=[]) == space


def test_sampled_floats_become_short_but_stay_within_their_range() -> None:
    lines = ["training.learning_rate=0.00123456:0.00123466", "model.dropout=0:0.5"]
    space = read_space(lines, preset="biatt", changes=[])
    search = Search("biatt", Path("corpus"), ["training.batch=64"], load_preset("biatt"), space, fingerprint=0)
    changes = search.changes_of({"training.learning_rate": 0.00123459, "model.dropout": 0.123456})
    assert changes == ["training.batch=64", "training.learning_rate=0.00123456", "model.dropout=0.123"]


def test_the_default_space_fits_every_preset_and_is_used_in_full() -> None:
    spaces = {}
    for preset in presets():
        with suppress(MissingRequirement):  # a backbone's weights
            spaces[preset] = read_space([], preset=preset, changes=[])
    assert list(spaces["maxent"]) == ["model.penalty"]
    assert "training.learning_rate" in spaces["mlp"] and "model.forget_bias" not in spaces["mlp"]
    # A setting that is renamed or removed elsewhere must not silently drop out of the search.
    assert set().union(*spaces.values()) == {line.partition("=")[0] for line in DEFAULT_SPACE}
    assert "training.batch" not in read_space([], preset="biatt", changes=["training.batch=64"])


def test_help_shows_the_default_space_unchanged() -> None:
    assert [Emoji.replace(line) for line in DEFAULT_SPACE] == list(DEFAULT_SPACE)  # rich turns ":100:" into a symbol
