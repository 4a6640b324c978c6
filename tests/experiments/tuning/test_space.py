"""What may be searched is checked before anything starts, and the complaint says what would be right."""

from __future__ import annotations

import pytest
from rich.emoji import Emoji

from veriscene.config import load_preset, presets
from veriscene.errors import InputError
from veriscene.experiments.tuning.space import DEFAULT, Choice, Range, lines_of, read_space

WRONG = {
    "training.learning_rate": "write it as section.key=low:high",
    "training.learning_rate=": "write it as section.key=low:high",
    "training.learning_rate=0.02:0.01": "the lower end 0.02 must be below the upper end 0.01",
    "training.learning_rate=0.1:2": "training.learning_rate=2.0 must be above 0 and below 1",
    "training.weight_decay=0:1:log": "with log the lower end must be above 0",
    "training.weight_decay=0:1:linear": "write it as section.key=low:high",
    "training.weight_decay=nan:1": "'nan' must be a finite number",
    "training.batch=16:64.5": "'64.5' must be a whole number",
    "training.batch=16,many": "'many' must be a whole number",
    "training.batch=64": "one value is no choice; fix it with --set",
    "training.bacth=16,32": "unknown key training.bacth; choose from training.seed,",
    "optimizer.beta=1:2": "unknown key optimizer; choose from model, data, training",
    "data.order=random:file": "write the choices as section.key=a,b,c",
    "data.order=random,backwards": "must be random, file or sorted",
    "data.recolor=yes,no": "'yes' must be true or false",
    "model.dropout=0:1": "must be at least 0 and below 1",
    "model.pooling=max,most": "unknown pooling 'most'; choose from max,",
    "model.penalty=1:2": "no effect on biatt",
    "training.clip=1:5": "training.clip is fixed by another option",
}


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_line_is_one_clear_complaint(line: str) -> None:
    with pytest.raises(InputError) as caught:
        read_space([line], load_preset("biatt"), fixed={"training.clip"})
    message = str(caught.value)
    assert message.startswith(f"--space {line}: ") and WRONG[line] in message and "\n" not in message


def test_a_setting_is_searched_once() -> None:
    with pytest.raises(InputError, match=r"model\.dropout is given twice"):
        read_space(["model.dropout=0:0.5", "model.dropout=0.1,0.2"], load_preset("biatt"), fixed=())


def test_lines_are_read_by_the_type_of_their_setting_and_written_again() -> None:
    lines = ["data.order=file,sorted", "model.hidden=64:512:log", "model.dropout=0:0.5", "data.mirror=true,false"]
    space = read_space(lines, load_preset("biatt"), fixed=())
    assert space == {
        "data.order": Choice(("file", "sorted")),
        "model.hidden": Range(64, 512, log=True),
        "model.dropout": Range(0.0, 0.5, log=False),
        "data.mirror": Choice((True, False)),
    }
    assert isinstance(space["model.dropout"].ends[0], float)
    assert read_space(lines_of(space), load_preset("biatt"), fixed=()) == space


@pytest.mark.parametrize("preset", sorted(set(presets()) - {"maxent"}))
def test_the_default_space_suits_every_preset(preset: str) -> None:
    space = read_space([], load_preset(preset), fixed={"training.batch"})
    assert "training.learning_rate" in space and "training.batch" not in space


def test_the_default_space_leaves_out_what_the_model_does_not_read() -> None:
    assert "model.forget_bias" in read_space([], load_preset("bienc"), fixed=())
    assert list(read_space([], load_preset("maxent"), fixed=())) == ["model.penalty"]


@pytest.mark.parametrize("line", DEFAULT)
def test_a_terminal_shows_the_default_space_as_it_is(line: str) -> None:
    assert Emoji.replace(line) == line
