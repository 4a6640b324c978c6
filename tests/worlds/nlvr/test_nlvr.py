from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from samples import random_scene
from strategies import examples
from veriscene import worlds
from veriscene.errors import InputError
from veriscene.world import examples as nlvr
from veriscene.world.corpus import split_file
from veriscene.world.examples import Example
from veriscene.worlds import nlvr as nlvr_world
from veriscene.worlds.nlvr.looks import WORLD


def record(**changes: Any) -> dict[str, Any]:
    example = Example("1-0", "There is a box.", random_scene(random.Random(3), most=3), True, "7")
    return {**nlvr.to_record(example, WORLD), **changes}


def with_item(**changes: Any) -> dict[str, Any]:
    item = {"x_loc": 10, "y_loc": 10, "size": 20, "type": "square", "color": "Black", **changes}
    return record(structured_rep=[[item], [item], [{**item, "x_loc": 70}]])


@given(
    st.lists(
        examples.filter(lambda e: any(map(str.isalnum, e.statement))), max_size=5, unique_by=lambda e: e.identifier
    )
)
def test_writing_and_reading_gives_the_same_examples(tmp_path_factory: Any, corpus: list[Example]) -> None:
    path = tmp_path_factory.mktemp("corpus") / "dev.json"
    nlvr.write(path, corpus, WORLD)
    if corpus:
        assert nlvr.read(path, WORLD) == corpus


ITEM = {"y_loc": 0, "size": 10, "type": "circle", "color": "Black"}
X_LOC = "box 1, item 1: x_loc"
DAMAGE = {  # the record, and what the message names: the place within the line, and what was given there
    "label": (record(label="yes"), "label", "'yes'"),
    "label of the wrong type": (record(label=1), "label", "1"),
    "two boxes": (record(structured_rep=record()["structured_rep"][:2]), "structured_rep", "2"),
    "no boxes": (record(structured_rep="scene"), "structured_rep", "'scene'"),
    "missing boxes": (record(structured_rep=None), "structured_rep", ""),
    "empty box": (record(structured_rep=[[], [], []]), "box 1", "0"),
    "nine items": (record(structured_rep=[[{"x_loc": 11 * n, **ITEM} for n in range(9)]] * 3), "box 1", "9"),
    "outside": (with_item(x_loc=85), X_LOC, "85"),
    "overlap": (
        record(structured_rep=[[*with_item()["structured_rep"][0], with_item(x_loc=15)["structured_rep"][0][0]]] * 3),
        "box 1, item 2",
        "item 1",
    ),
    "text in a number": (with_item(y_loc="ten"), "box 1, item 1: y_loc", "'ten'"),
    "NaN": (with_item(x_loc=float("nan")), "", "NaN"),
    "infinity": (with_item(x_loc=float("inf")), "", "Infinity"),
    "half a pixel": (with_item(x_loc=1.5), X_LOC, "1.5"),
    "a huge number": (with_item(x_loc=10**400), X_LOC, ""),
    "deep nesting": (with_item(x_loc=json.loads("[" * 300 + "]" * 300)), X_LOC, "[[[...]]]"),
    "half a character": (record(identifier="1\ud800-0"), "identifier", "\\ud800"),
    "half a character in the text": (record(sentence="a\ud800"), "sentence", "\\ud800"),
    "a quote in the identifier": (record(identifier='1"-0'), "identifier", "'1\"-0'"),
    "half a character in the directory": (record(directory="\ud800"), "directory", "\\ud800"),
    "true as a directory": (record(directory=True), "directory", "True"),
    "true as a number": (with_item(x_loc=True), X_LOC, "True"),
    "size": (with_item(size=25), "box 1, item 1: size", "25"),
    "shape": (with_item(type="hexagon"), "box 1, item 1: type", "'hexagon'"),
    "unhashable colour": (with_item(color=["Black"]), "box 1, item 1: color", "['Black']"),
    "no letter or digit": (record(sentence=" ... "), "sentence", "' ... '"),
    "257 words": (record(sentence="a, " * 128 + "a"), "sentence", ""),
    "identifier": (record(identifier="17"), "identifier", "'17'"),
    "an array on the line": ([1, 2], "", "array"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_each_damage_names_file_line_and_place(name: str, tmp_path: Path) -> None:
    damaged, place, given = DAMAGE[name]
    path = tmp_path / "dev.json"
    path.write_text(json.dumps(record(identifier="0-0")) + "\n" + json.dumps(damaged) + "\n")
    with pytest.raises(InputError) as caught:
        nlvr.read(path, WORLD)
    assert caught.value.where == f"{path}:2: {place}".removesuffix(": ") and given in caught.value.what
    assert "\n" not in str(caught.value) and len(str(caught.value)) < len(str(path)) + 250


@pytest.mark.parametrize(
    ("content", "line", "named"),
    [
        (b"", "", "empty"),
        (b"\n \n", "", "empty"),
        (b'\xff\xfe{"a": 1}', ":1", "UTF-8 at byte 0"),
        (json.dumps([record()]).encode(), "", "array"),
        (json.dumps([record()], indent=1).encode(), "", "array"),
        (json.dumps(record(), indent=1).encode(), "", "pretty-printed"),
        (b'{"sentence": "There is a box.",\n "label": "true"}\n', "", "pretty-printed"),
        (b'{"sentence":', ":1", "JSON"),
        (json.dumps(record())[:-1].encode() + b', "label": "true"}', ":1", "'label'"),
        (json.dumps(record())[:40].encode(), ":1", "JSON"),
        ((json.dumps(record()) + "\n").encode() + b"x" * (1 << 20) + b"y\n", ":2", "1,048,576"),
        ((json.dumps(record()) + "\n").encode() * 2, ":2", "'1-0'"),
        (b"[" * 100_000, "", "array"),
    ],
)
def test_damage_to_a_whole_file_is_one_problem(content: bytes, line: str, named: str, tmp_path: Path) -> None:
    path = tmp_path / "dev.json"
    path.write_bytes(content)
    (problem,) = (found for found in nlvr.scan(path, WORLD) if isinstance(found, InputError))
    assert str(problem.where) == f"{path}{line}" and named in problem.what


def test_scan_yields_valid_examples_and_every_problem_in_file_order(tmp_path: Path) -> None:
    path = tmp_path / "dev.json"
    lines = [record(identifier="0-0"), record(label="maybe", sentence=""), record(identifier="0-1"), with_item(size=5)]
    path.write_text("\n".join(json.dumps(line) for line in lines))
    found = [x.place if isinstance(x, Example) else str(x.where).split(": ")[0] for x in nlvr.scan(path, WORLD)]
    assert found == [f"{path}:{line}" for line in (1, 2, 2, 3, 4, 4, 4)]


def test_problems_and_lines_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "dev.json"
    path.write_text("{broken\n" * 50)
    monkeypatch.setattr(nlvr, "MAX_PROBLEMS", 10)
    *problems, last = nlvr.scan(path, WORLD)
    assert len(problems) == 10 and isinstance(last, InputError) and last.where == path and "10" in str(last)
    path.write_text("\n" * 50)
    monkeypatch.setattr(nlvr, "MAX_LINES", 10)
    (problem,) = nlvr.scan(path, WORLD)
    assert isinstance(problem, InputError) and problem.where == path and "10" in str(problem)


def test_a_scene_file_holds_boxes_or_a_record(tmp_path: Path) -> None:
    path, boxes = tmp_path / "scene.json", record()["structured_rep"]
    for value in (boxes, record(), {"structured_rep": boxes}):
        path.write_text(json.dumps(value, indent=1))
        assert nlvr.read_scene_file(path, WORLD) == WORLD.parse(boxes)
    for text, named in (
        ('{"structured_rep": [], "structured_rep": []}', "'structured_rep'"),
        ("{}", "structured_rep: "),
        (json.dumps(boxes) + " " * nlvr.MAX_SCENE_FILE, f"{nlvr.MAX_SCENE_FILE:,}"),
        ("[1", "JSON"),
    ):
        path.write_text(text)
        with pytest.raises(InputError) as caught:
            nlvr.read_scene_file(path, WORLD)
        assert str(caught.value).startswith(f"{path}: ") and named in str(caught.value)
    with pytest.raises(InputError, match=rf"^/dev/zero: .*{nlvr.MAX_SCENE_FILE:,}"):
        nlvr.read_scene_file("/dev/zero", WORLD)


def test_the_hidden_split_has_neither_label_nor_directory(tmp_path: Path) -> None:
    path = tmp_path / "hidden.json"
    bare = record()
    del bare["label"], bare["directory"]
    path.write_text(json.dumps(bare))
    (example,) = nlvr.read(path, WORLD)
    assert example.label is None and example.directory is None


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(InputError) as caught:
            nlvr.read(path, WORLD)
        assert caught.value.where == path
    with pytest.raises(InputError) as caught:
        split_file(tmp_path, "dev")
    assert caught.value.where == tmp_path and "dev" in caught.value.what


@given(st.dictionaries(st.from_regex(r"[0-9]{1,4}-[0-3]", fullmatch=True), st.booleans()))
def test_predictions_round_trip(tmp_path_factory: Any, verdicts: dict[str, bool]) -> None:
    path = tmp_path_factory.mktemp("csv") / "p.csv"
    nlvr.write_predictions(path, verdicts)
    assert nlvr.read_predictions(path) == verdicts


@pytest.mark.parametrize(
    ("text", "line"),
    [("1-0,true\n1-0,false\n", 2), ("1-0,true,false\n", 1), ("1-0\n", 1), ("1-0,yes\n", 1)],
)
def test_bad_prediction_files_are_refused(text: str, line: int, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        nlvr.read_predictions(path)
    assert caught.value.where == f"{path}:{line}"


def test_the_real_corpus_is_read_whole(nlvr_folder: Path) -> None:
    sizes = {split: len(nlvr.read(split_file(nlvr_folder, split), WORLD)) for split in ("train", "dev", "test")}
    assert sizes["dev"] == 989 and sizes["test"] == 990 and sizes["train"] in (12408, 12410)


def test_no_module_hides_an_ability_of_its_name() -> None:
    """Importing a module of the package sets an attribute of the package, which would replace a function."""
    for module in pkgutil.iter_modules(nlvr_world.__path__):
        imported = importlib.import_module(f"{nlvr_world.__name__}.{module.name}")
        assert getattr(nlvr_world, module.name) is imported
    for name in ("decode", "layouts", "pixels", "draw_statement", "draw_scenes", "edit_scenes"):
        assert inspect.isfunction(worlds.ability(WORLD, name)), name
