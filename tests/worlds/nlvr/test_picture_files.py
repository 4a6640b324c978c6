"""Which pictures belong to which example."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from samples import yellow_circle_examples
from veriscene.errors import InputError
from veriscene.metrics.accuracy import score
from veriscene.world.scene import Scene
from veriscene.worlds.nlvr import pictures as picture
from veriscene.worlds.nlvr.looks import WORLD
from veriscene.worlds.nlvr.pictures import (
    each_picture,
    find_pictures,
    per_picture,
    render_examples,
    with_pictures,
    written_name,
)
from veriscene.worlds.nlvr.raster import pixels

EXAMPLES = [replace(each, directory=str(number % 3)) for number, each in enumerate(yellow_circle_examples(8))]


def rendered(folder: Path, split: str = "dev", count: int = 6) -> Path:
    render_examples(WORLD, EXAMPLES, folder, split=split, kind="png", count=count, progress=lambda done, total: None)
    return folder


def test_all_six_orders_of_the_boxes_are_written_and_found(tmp_path: Path) -> None:
    found = find_pictures(rendered(tmp_path / "images"), "dev")
    assert found == find_pictures(tmp_path, None)
    for example in EXAMPLES:
        paths = [tmp_path / f"images/{example.directory}/dev-{example.identifier}-{k}.png" for k in range(6)]
        assert found[example.identifier] == paths
        for path, order in zip(paths, permutations(example.scene.boxes), strict=True):
            assert np.array_equal(picture.read(path), pixels(Scene(order))[..., :3])


def test_examples_without_a_directory_have_pictures_all_the_same(tmp_path: Path) -> None:
    """As in the hidden split."""
    hidden = [replace(example, directory=None, label=None) for example in EXAMPLES]
    pictured = with_pictures(hidden, rendered(tmp_path / "images", "hidden", 2), "hidden")
    assert pictured == hidden
    assert [written_name(each) for each in pictured] == [f"hidden-{each.identifier}-0.png" for each in hidden]
    render_examples(WORLD, hidden, tmp_path / "new", split="x", kind="svg", count=1, progress=lambda done, total: None)
    assert (tmp_path / f"new/0/x-{hidden[0].identifier}-0.svg").read_text().startswith("<svg")


def test_every_picture_counts_and_consistency_is_that_of_presentations(tmp_path: Path) -> None:
    folder = rendered(tmp_path / "images", count=3)
    for surplus in folder.rglob(f"dev-{EXAMPLES[0].identifier}-2.png"):
        surplus.unlink()
    pictured = each_picture(EXAMPLES, folder, Path("dev.json"))
    assert len(pictured) == 3 * len(EXAMPLES) - 1
    labels = {example.identifier: example.label for example in EXAMPLES}
    verdicts = {written_name(each): bool(each.label) for each in pictured}
    assert all(verdict == labels["-".join(name.split("-")[1:3])] for name, verdict in verdicts.items())
    perfect = score(*per_picture(EXAMPLES, verdicts))
    assert perfect.accuracy == perfect.consistency == 1 and perfect.examples == len(pictured)
    wrong = f"dev-{EXAMPLES[0].identifier}-1.png"
    scores = score(*per_picture(EXAMPLES, {**verdicts, wrong: not verdicts[wrong]}))
    assert scores.accuracy == 1 - 1 / len(pictured)
    assert scores.presentations == 2 and scores.consistency == 0.5  # 8 examples, four to a presentation
    first = EXAMPLES[0].identifier
    with pytest.raises(InputError, match=f"'{first}'"):
        score(*per_picture(EXAMPLES, {name: truth for name, truth in verdicts.items() if f"-{first}-" not in name}))
    with pytest.raises(InputError, match=r"'dev\.png'"):
        per_picture(EXAMPLES, {"dev.png": True})


def test_missing_or_ambiguous_pictures_are_one_line(tmp_path: Path) -> None:
    folder = rendered(tmp_path / "images", count=1)
    with pytest.raises(InputError, match=r"\bdev\b.*test-IDENTIFIER-0\.png") as caught:
        find_pictures(folder, "test")
    assert caught.value.where == folder
    assert len(each_picture(EXAMPLES, folder, Path("mine.json"))) == len(EXAMPLES)
    next(folder.rglob(f"dev-{EXAMPLES[3].identifier}-0.png")).unlink()
    for find in (
        lambda: with_pictures(EXAMPLES, folder, "dev"),
        lambda: each_picture(EXAMPLES, folder, Path("dev.json")),
    ):
        with pytest.raises(InputError, match=rf"\b1 .*'{EXAMPLES[3].identifier}'") as caught:
            find()
        assert caught.value.where == folder
    rendered(tmp_path / "two", "train", 2)
    next((tmp_path / "two").rglob(f"train-{EXAMPLES[5].identifier}-0.png")).unlink()
    with pytest.raises(InputError, match=f"'{EXAMPLES[5].identifier}'"):  # another order than the scene's
        with_pictures(EXAMPLES, tmp_path / "two", "train")
    rendered(tmp_path / "more", "test", 1)
    with pytest.raises(InputError, match="dev, test, train") as caught:
        each_picture(EXAMPLES, tmp_path, Path("mine.json"))
    assert caught.value.where == tmp_path
    rendered(tmp_path / "again", "test", 1)
    with pytest.raises(InputError) as caught:
        find_pictures(tmp_path, "test")
    assert Path(str(caught.value.where)).name in caught.value.what  # the other path, of the same name
    (tmp_path / "empty").mkdir()
    for place in ("empty", "none"):
        with pytest.raises(InputError) as caught:
            find_pictures(tmp_path / place, "dev")
        assert caught.value.where == tmp_path / place


@pytest.mark.parametrize("change", [{"directory": ".."}, {"directory": "/tmp"}, {"identifier": "../1-0"}])
def test_no_picture_is_written_outside_the_folder(change: dict[str, str], tmp_path: Path) -> None:
    bad = replace(EXAMPLES[0], place="dev.json:1", **change)
    ((field, name),) = change.items()
    with pytest.raises(InputError, match=rf"^dev\.json:1: {field}: '{re.escape(name)}'"):
        render_examples(
            WORLD, [bad], tmp_path / "out", split="x", kind="png", count=1, progress=lambda done, total: None
        )
    assert not list(tmp_path.iterdir())
