"""Exported tables hold the same examples, in formats that other tools read."""

from __future__ import annotations

import base64
import builtins
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samples import write_corpus, yellow_circle_examples
from some_worlds import WORLDS, scenes_of
from strategies import examples
from veriscene.data.tables import examples_of, export, read_table, row
from veriscene.errors import InputError, MissingRequirement
from veriscene.judge.question import Question
from veriscene.world.corpus import split_file, supervision
from veriscene.world.examples import Example, write
from veriscene.world.schema import World
from veriscene.worlds.nlvr import pictures as picture
from veriscene.worlds.nlvr import raster as render
from veriscene.worlds.nlvr import synthetic
from veriscene.worlds.nlvr.looks import WORLD

COLUMNS = ["identifier", "statement", "label", "split", "directory", "scene"]


def exported(path: Path, out: Path, *, images: bool = False) -> list[dict[str, Any]]:
    """The rows of the written file, read without this project."""
    count = export(path, out, kind=out.suffix[1:], images=images, progress=lambda done, total: None)
    if out.suffix == ".parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
        rows: list[dict[str, Any]] = parquet.read_table(out).to_pylist()
    else:
        rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == count
    return rows


def example_of(found: dict[str, Any]) -> Example:
    scene = WORLD.parse(found["scene"])
    return Example(found["identifier"], found["statement"], scene, found["label"], found["directory"])


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
@given(written=st.lists(examples, min_size=1, max_size=5, unique_by=lambda example: example.identifier))
def test_the_rows_are_the_examples(kind: str, written: list[Example], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("export")
    write(folder / "dev.json", written, WORLD)
    rows = exported(folder / "dev.json", folder / f"out.{kind}")
    assert [list(found) for found in rows] == [COLUMNS] * len(written)
    assert [example_of(found) for found in rows] == written and {found["split"] for found in rows} == {"dev"}


def through_pandas(rows: list[dict[str, Any]], file: Path) -> list[dict[str, Any]]:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    pandas.DataFrame(rows).to_parquet(file)
    assert list(pandas.DataFrame(rows).columns) == COLUMNS
    return [*pandas.DataFrame(rows).to_dict("records"), *pandas.read_parquet(file).to_dict("records")]


def through_datasets(rows: list[dict[str, Any]], file: Path) -> list[dict[str, Any]]:
    datasets = pytest.importorskip("datasets", reason="Hugging Face's datasets is not installed")
    made = datasets.Dataset.from_list(rows)
    made.to_parquet(str(file))
    made.to_json(str(file.with_suffix(".jsonl")))
    lines = [json.loads(line) for line in file.with_suffix(".jsonl").read_text(encoding="utf-8").splitlines()]
    return [*made, *datasets.Dataset.from_parquet(str(file), cache_dir=str(file.parent)), *lines]


@pytest.mark.parametrize("through", [through_pandas, through_datasets])
@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_nothing_is_lost_in_pandas_or_datasets(world: World, through: Any, tmp_path: Path) -> None:
    scenes = scenes_of(world, 30)
    written = [
        Example(
            f"{n // 2}-{n % 2}", f"Statement {n} … 'ü'", scene, (True, False, None)[n % 3], str(n) if n % 4 else None
        )
        for n, scene in enumerate(scenes)
    ]
    rows = [row(each, "train" if n % 2 else "dev", world, images=False) for n, each in enumerate(written)]
    found = through(rows, tmp_path / "t.parquet")
    assert len(found) in (60, 90)
    for first in range(0, len(found), 30):
        splits = examples_of(found[first : first + 30], world)
        assert splits == {"dev": written[::2], "train": written[1::2]}


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_an_exported_table_becomes_the_same_corpus_again(kind: str, tmp_path: Path) -> None:
    synthetic.write(tmp_path / "corpus", synthetic.build(20, seed=1, level="full"))
    exported(tmp_path / "corpus", tmp_path / f"t.{kind}", images=True)
    command = [sys.executable, "-m", "veriscene", "data", "import", f"t.{kind}", "again", "--supervision", "synthetic"]
    subprocess.run(command, cwd=tmp_path, check=True)
    for split in ("train", "dev", "test"):
        one, other = (split_file(tmp_path / folder, split).read_bytes() for folder in ("corpus", "again"))
        assert one == other
    assert supervision(tmp_path / "again") == "synthetic"


@pytest.mark.parametrize(
    ("name", "text", "where"),
    [
        ("t.jsonl", '{"split": "dev"}\n', "row 1: identifier"),
        ("t.jsonl", '{"split": "../dev"}\n', "row 1: split"),
        ("t.jsonl", '{"statement": "There is a box."}\n', "row 1: split"),
        ("t.jsonl", "[]\n", "line 1"),
        ("t.parquet", "PAR1 and so on", None),
        ("t.jsonl", "", None),
    ],
)
def test_a_damaged_table_is_refused_with_its_row(name: str, text: str, where: str | None, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_table(tmp_path / name, WORLD)
    assert str(error.value.where) == (str(tmp_path / name) if where is None else f"{tmp_path / name}: {where}")


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_a_folder_becomes_one_table_of_all_splits_with_pictures(kind: str, tmp_path: Path) -> None:
    train, dev = yellow_circle_examples(6), yellow_circle_examples(3, seed=1)
    corpus = write_corpus(tmp_path / "corpus", train, dev)
    for example in dev:  # read; those of train are rendered
        png = picture.to_png(render.pixels(example.scene)[..., :3])
        (corpus / "dev/images/0").mkdir(parents=True, exist_ok=True)
        (corpus / f"dev/images/0/dev-{example.identifier}-0.png").write_bytes(png)
    rows = exported(corpus, tmp_path / f"out.{kind}", images=True)
    assert [example_of(found) for found in rows] == train + dev
    assert [found["split"] for found in rows] == ["train"] * 6 + ["dev"] * 3
    for found, example in zip(rows, train + dev, strict=True):
        image = found["image"]
        content = base64.b64decode(image) if kind == "jsonl" else image["bytes"]
        assert np.array_equal(picture.from_bytes(content), render.pixels(example.scene)[..., :3])
        if found["split"] == "dev":
            assert content == (corpus / f"dev/images/0/dev-{example.identifier}-0.png").read_bytes()


def test_a_line_is_a_question() -> None:
    (example,) = yellow_circle_examples(1)
    assert Question.from_json(row(example, "dev", WORLD, images=False), WORLD) == Question(
        example.statement, example.scene
    )


def test_failures_leave_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = write_corpus(tmp_path / "corpus", yellow_circle_examples(3), yellow_circle_examples(2))
    out = tmp_path / "out.jsonl"

    def written(kind: str = "jsonl", *, images: bool = False) -> None:
        export(corpus, out, kind=kind, images=images, progress=lambda done, total: None)

    with pytest.raises(InputError, match=r"'csv'; .*jsonl, parquet"):
        written("csv")
    (corpus / "dev/images").mkdir()
    with pytest.raises(InputError, match=r"dev-IDENTIFIER-0\.png") as caught:
        written(images=True)
    assert caught.value.where == corpus / "dev/images"
    importing = builtins.__import__

    def without_pyarrow(name: str, *rest: Any, **options: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name, name=name)
        return importing(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without_pyarrow)
    with pytest.raises(MissingRequirement, match=r"pyarrow: .*veriscene\[export\]"):
        written("parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]
    written()
    with pytest.raises(InputError) as caught:
        written()
    assert caught.value.where == out
