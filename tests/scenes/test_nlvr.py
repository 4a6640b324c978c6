from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from samples import random_scene
from strategies import examples
from veriscene.errors import InputError
from veriscene.scenes import nlvr
from veriscene.scenes.nlvr import Example


def record(**changes: Any) -> dict[str, Any]:
    example = Example("1-0", "There is a box.", random_scene(random.Random(3), most=3), True, "7")
    return {**nlvr.to_record(example), **changes}


def with_item(**changes: Any) -> dict[str, Any]:
    item = {"x_loc": 10, "y_loc": 10, "size": 20, "type": "square", "color": "Black", **changes}
    return record(structured_rep=[[item], [item], [{**item, "x_loc": 70}]])


@given(st.lists(examples, max_size=5, unique_by=lambda e: e.identifier))
def test_writing_and_reading_back_gives_the_same_examples(tmp_path_factory: Any, corpus: list[Example]) -> None:
    path = tmp_path_factory.mktemp("corpus") / "dev.json"
    nlvr.write(path, corpus)
    if corpus:
        assert nlvr.read(path) == corpus


DAMAGE = {
    "label": (record(label="yes"), "label: 'yes'"),
    "label of the wrong type": (record(label=True), "label: True"),
    "two boxes": (record(structured_rep=record()["structured_rep"][:2]), "too few boxes (2)"),
    "four boxes": (record(structured_rep=record()["structured_rep"] * 2), "too many boxes (6)"),
    "no boxes": (record(structured_rep="scene"), "must be a list of 3 boxes"),
    "empty box": (record(structured_rep=[[], [], []]), "box 1 is empty"),
    "nine items": (
        record(
            structured_rep=[
                [{"x_loc": 11 * n, "y_loc": 0, "size": 10, "type": "circle", "color": "Black"} for n in range(9)]
            ]
            * 3
        ),
        "has 9 items; a box holds at most 8",
    ),
    "outside": (with_item(x_loc=85), "x_loc: 85 puts an item of size 20 outside the box; allowed is 0 to 80"),
    "overlap": (
        record(structured_rep=[[*with_item()["structured_rep"][0], with_item(x_loc=15)["structured_rep"][0][0]]] * 3),
        "item 2 lies over item 1",
    ),
    "text in a number": (with_item(y_loc="ten"), "y_loc: 'ten' is not a whole number"),
    "NaN": (with_item(x_loc=float("nan")), "x_loc: nan is not a whole number"),
    "infinity": (with_item(x_loc=float("inf")), "x_loc: inf is not a whole number"),
    "half a pixel": (with_item(x_loc=1.5), "x_loc: 1.5 is not a whole number"),
    "a huge number": (with_item(x_loc=10**400), "a huge number puts an item"),
    "half a character": (record(identifier="1\ud800-0"), "identifier: "),
    "a quote in the identifier": (record(identifier='1"-0'), "without blanks, commas or quotes"),
    "true as a directory": (record(directory=True), "directory: True"),
    "true as a number": (with_item(x_loc=True), "x_loc: True is not a whole number"),
    "size": (with_item(size=25), "size: 25 is not allowed; allowed: 10, 20, 30"),
    "shape": (with_item(type="hexagon"), "type: 'hexagon' is not allowed; allowed: square, circle, triangle"),
    "unhashable colour": (with_item(color=["Black"]), "color: ['Black'] is not allowed"),
    "blank statement": (record(sentence="  "), "sentence: '  '"),
    "identifier": (record(identifier="17"), "identifier: '17'"),
    "an array on the line": ([1, 2], "JSON array"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_each_damage_has_its_own_message_with_file_and_line(name: str, tmp_path: Path) -> None:
    damaged, message = DAMAGE[name]
    path = tmp_path / "dev.json"
    path.write_text(json.dumps(record(identifier="0-0")) + "\n" + json.dumps(damaged) + "\n")
    with pytest.raises(InputError) as error:
        nlvr.read(path)
    assert f"{path}:2: " in str(error.value)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"\n \n", "the file is empty"),
        (b'\xff\xfe{"a": 1}', "not UTF-8 at byte 0"),
        (json.dumps([record()]).encode(), "one JSON array"),
        (
            (json.dumps(record()) + "\n" + json.dumps(record(identifier="1-1"))[:40]).encode(),
            ":2: not JSON: the line is cut",
        ),
        ((json.dumps(record()) + "\n").encode() * 2, ":2: identifier '1-0' is a duplicate of line 1"),
        (b"{'a': 1}\n", ":1: not JSON"),
        (b'{"a": ' + b"9" * 5000 + b"}", ":1: not JSON"),
        (b"[" * 100_000, "one JSON array"),
        (b'{"a":' * 100_000, ":1: not JSON"),
    ],
)
def test_damage_of_the_whole_file_is_named(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "dev.json"
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        nlvr.read(path)
    assert message in str(error.value) and str(path) in str(error.value)


def test_check_lists_all_problems_and_keeps_the_sound_examples(tmp_path: Path) -> None:
    path = tmp_path / "dev.json"
    lines = [record(identifier="0-0"), record(label="maybe", sentence=""), record(identifier="0-1"), with_item(size=5)]
    path.write_text("\n".join(json.dumps(line) for line in lines))
    sound, problems = nlvr.check(path)
    assert [example.identifier for example in sound] == ["0-0", "0-1"]
    assert [problem.line for problem in problems] == [2, 2, 4, 4, 4]


def test_the_hidden_split_has_neither_label_nor_directory(tmp_path: Path) -> None:
    path = tmp_path / "hidden.json"
    bare = record()
    del bare["label"], bare["directory"]
    path.write_text(json.dumps(bare))
    (example,) = nlvr.read(path)
    assert example.label is None and example.directory is None


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        nlvr.read(tmp_path / "none.json")
    with pytest.raises(InputError, match="is a folder"):
        nlvr.read(tmp_path)
    with pytest.raises(InputError, match="has no dev split"):
        nlvr.split_file(tmp_path, "dev")


@given(st.dictionaries(st.from_regex(r"[0-9]{1,4}-[0-3]", fullmatch=True), st.booleans()))
def test_predictions_round_trip(tmp_path_factory: Any, verdicts: dict[str, bool]) -> None:
    path = tmp_path_factory.mktemp("csv") / "p.csv"
    nlvr.write_predictions(path, verdicts)
    assert nlvr.read_predictions(path) == verdicts


@pytest.mark.parametrize(
    ("text", "message"), [("1-0,true\n1-0,false\n", "double"), ("1-0\n", ":1: "), ("1-0,yes\n", "true")]
)
def test_bad_prediction_files_are_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        nlvr.read_predictions(path)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "dev.json"
    path.write_text("old")

    def broken() -> Any:
        yield Example("1-0", "There is a box.", random_scene(random.Random(1)), True)
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError):
        nlvr.write(path, broken())
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["dev.json"]


def test_the_real_corpus_is_read_whole(nlvr_folder: Path) -> None:
    sizes = {split: len(nlvr.read(nlvr.split_file(nlvr_folder, split))) for split in ("train", "dev", "test")}
    assert sizes["dev"] == 989 and sizes["test"] == 990 and sizes["train"] in (12408, 12410)
