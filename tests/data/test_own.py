"""Own data become a corpus: split by statement, with errors that name line and column."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from samples import yellow_circle_examples
from some_worlds import SHELF, scenes_of
from veriscene import worlds
from veriscene.data import own
from veriscene.errors import InputError
from veriscene.world.corpus import split_file, supervision
from veriscene.world.schema import World
from veriscene.worlds.nlvr import pictures as picture
from veriscene.worlds.nlvr import raster as render
from veriscene.worlds.nlvr.looks import WORLD
from veriscene.worlds.nlvr.pictures import decode_file

SCENES = [example.scene for example in yellow_circle_examples(4)]
HEADER = "statement,scene,label"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a scene in each form."""
    scenes = tmp_path / "scenes"
    (scenes / "deep").mkdir(parents=True)
    (scenes / "0.json").write_text(json.dumps(WORLD.to_json_scene(SCENES[0])))
    (scenes / "1.json").write_text(json.dumps({"structured_rep": WORLD.to_json_scene(SCENES[1])}))
    (scenes / "deep/2.png").write_bytes(picture.to_png(render.pixels(SCENES[2])))
    return scenes


def table(folder: Path, *lines: str) -> Path:
    path = folder.parent / "statements.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_rows_of_all_forms_are_read(folder: Path) -> None:
    path = table(
        *(folder, "Label,note, scene ,statement"),
        'true,,0.json,"There is a circle, a big one."',
        "",
        "FALSE,x,1.json,  There is a tower ",
        "false,,deep/2.png,There is a tower",
    )
    rows = own.read_table(path, folder, WORLD, decode_file)
    assert [row.statement for row in rows] == ["There is a circle, a big one.", *["There is a tower"] * 2]
    assert [row.label for row in rows] == [True, False, False]
    assert [row.scene for row in rows[:2]] == SCENES[:2]
    assert np.array_equal(render.pixels(rows[2].scene), render.pixels(SCENES[2]))


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        (["statement;scene;label", "a;b;c"], r"csv:1: .*\bstatement\b.*;"),
        (["statement,scene,label,scene"], r"csv:1: .*\bscene\b.*;"),
        ([HEADER], rf"csv: .*{HEADER}"),
        ([HEADER, "Yes, it is,0.json,true"], r"csv:2: .*\b4\b.*\b3\b"),
        ([HEADER, "A box.,0.json,true", "A box.,1.json,maybe"], r"csv:3: column label: 'maybe'"),
        ([HEADER, "A box.,0.json,"], r"csv:2: column label: .*true, false"),
        ([HEADER, "...,0.json,true"], r"csv:2: column statement: '\.\.\.'"),
        ([HEADER, "A box.,none.json,true"], rf"csv:2: column scene: .*none\.json: .*{os.strerror(errno.ENOENT)}"),
        ([HEADER, "A box.,../x.json,true"], r"csv:2: column scene: '\.\./x\.json'"),
        ([HEADER, "A box.,/etc/passwd,true"], r"csv:2: column scene: '/etc/passwd'"),
        ([HEADER, "A box.,0.txt,true"], r"csv:2: column scene: '0\.txt'.*\.json"),
        ([HEADER, "A box.,bad.json,true"], r"csv:2: column scene: .*bad\.json: structured_rep: .*\b0\b"),
        ([HEADER, "A box.,0.json,true", "a  BOX,0.json,true"], r"csv:3: .*line 2"),
        ([HEADER, '"A box.,0.json,true'], r"csv:\d+: .*CSV"),
    ],
)
def test_errors_name_line_and_column(folder: Path, lines: list[str], named: str) -> None:
    (folder / "bad.json").write_text("[]")
    with pytest.raises(InputError, match=named) as caught:
        own.read_table(table(folder, *lines), folder, WORLD, decode_file)
    assert "\n" not in str(caught.value)


@given(
    statements=st.lists(st.integers(0, 9), min_size=2, max_size=60).filter(lambda found: len(set(found)) > 1),
    dev_share=st.floats(0.01, 0.9),
    seed=st.integers(0, 99),
)
def test_no_statement_is_in_both_splits(statements: list[int], dev_share: float, seed: int) -> None:
    rows = [own.Row(("A box {}.", "a  box {}")[i % 2].format(n), SCENES[i % 4], True) for i, n in enumerate(statements)]
    examples = own.split(rows, dev_share=dev_share, seed=seed)
    assert own.split(rows, dev_share=dev_share, seed=seed) == examples
    texts = {name: {e.statement.split()[2].rstrip(".") for e in found} for name, found in examples.items()}
    assert not texts["train"] & texts["dev"] and all(texts.values())
    different = len(set(statements))
    assert len(texts["dev"]) == min(max(1, round(dev_share * different)), different - 1)
    everything = [*examples["train"], *examples["dev"]]
    assert len({e.identifier for e in everything}) == len(rows)
    assert len({e.presentation for e in everything}) == different
    assert sorted(e.statement for e in everything) == sorted(row.statement for row in rows)


def test_one_statement_cannot_be_split() -> None:
    with pytest.raises(InputError, match="train and dev"):
        own.split([own.Row("A box.", SCENES[0], True)] * 2, dev_share=0.5, seed=1)


@pytest.mark.parametrize("world", [WORLD, SHELF], ids=lambda world: world.name)
def test_what_is_written_is_a_corpus_of_labels_and_knows_its_world(world: World, tmp_path: Path) -> None:
    rows = [own.Row(f"A box {n}.", scene, n % 2 == 0) for n, scene in enumerate(scenes_of(world, 4))]
    examples = own.split(rows, dev_share=0.25, seed=3)
    own.write(tmp_path, examples, world, dev_share=0.25, seed=3)
    for split, expected in examples.items():
        assert worlds.read(split_file(tmp_path, split)) == expected
    assert supervision(tmp_path) == "labels" and worlds.of_corpus(tmp_path) == world


def test_eyes_read_recompressed_pictures(folder: Path) -> None:
    from veriscene.cli.data import _with_eyes

    scene = SCENES[0]
    wide = Image.fromarray(render.pixels(scene)[..., :3]).resize((800, 200))
    wide.save(folder / "wide.jpg", quality=90)
    path = table(folder, HEADER, "A box.,wide.jpg,true")
    (row,) = own.read_table(path, folder, WORLD, _with_eyes())
    assert [len(box.items) for box in row.scene.boxes] == [len(box.items) for box in scene.boxes]
    with pytest.raises(InputError, match=r"csv:2: column scene: .*wide\.jpg: .*PNG"):
        own.read_table(path, folder, WORLD, decode_file)
