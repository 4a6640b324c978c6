"""Corpora as flat tables, one row per example: JSON lines or parquet, as Hugging Face `datasets` reads them.

| column | |
| --- | --- |
| identifier | n-m: presentation n, picture m |
| statement | text |
| label | true, false or null |
| split | train, dev, …: the name of the file |
| directory | text or null |
| scene | a list of items for each box, with the fields that the world's files have |
| image | on demand: a PNG file; base64 text in JSON lines, a struct of bytes and path (`datasets.Image`) in parquet |
"""

from __future__ import annotations

import base64
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from veriscene import worlds
from veriscene.errors import InputError, first_line, located, missing_package
from veriscene.files import check_absent, json_objects, opened, read_lines, write_bytes
from veriscene.output import Progress
from veriscene.world.corpus import split_files
from veriscene.world.examples import Example, of_record
from veriscene.world.schema import World, not_allowed

FORMATS = ("jsonl", "parquet")
ROWS_PER_GROUP = 4096  # of a parquet file; what is held in memory besides the file itself

Row = dict[str, Any]


def export(path: Path, out: Path, *, kind: str, images: bool, progress: Progress) -> int:
    """Writes all splits of a corpus folder, or one file of examples, to a new file, completely or not at all; returns
    the number of rows.

    `images` adds pictures: those in the split's folder `images`, which must then be complete, else rendered ones.
    """
    if kind not in FORMATS:
        raise InputError(f"unknown format {kind!r}", allowed=f"choose from {', '.join(FORMATS)}")
    check_absent(out)
    if kind == "parquet":
        pyarrow()  # before the corpus is read
    world = worlds.of_corpus(path)
    splits = {file.stem: _read(file, world, images) for file in split_files([path])}
    total = sum(map(len, splits.values()))

    def rows() -> Iterator[Row]:
        done = 0
        for split, examples in splits.items():
            for example in examples:
                yield row(example, split, world, images=images)
                done += 1
                progress(done, total)

    write_bytes(out, _parquet(rows(), world, images) if kind == "parquet" else _json_lines(rows()))
    return total


def row(example: Example, split: str, world: World, *, images: bool = False) -> Row:
    """Returns the columns of an example; its picture as the bytes of a PNG file."""
    columns: Row = {name: getattr(example, name) for name in ("identifier", "statement", "label")}
    columns |= {"split": split, "directory": example.directory, "scene": world.to_json_scene(example.scene)}
    return columns | ({"image": _png(example, world)} if images else {})


def examples_of(rows: Iterable[Mapping[str, Any]], world: World) -> dict[str, list[Example]]:
    """Returns the examples of which `row` made these rows, by split, also after pandas or `datasets` had them; raises
    InputError with the number of the first row that is wrong. Pictures are left out: the scene is complete."""
    splits: dict[str, dict[str, Example]] = {}
    for number, found in enumerate(rows, 1):
        columns = plain({name: value for name, value in found.items() if name != "image"})
        with located(f"row {number}"):
            split = columns.pop("split", None)
            if not isinstance(split, str) or not re.fullmatch(r"\w[\w-]*", split):
                raise not_allowed(split, "it must be a name, as train or dev").at("split")
            example = of_record({world.scene_field: columns.pop("scene", None), **columns}, world)
            if example.identifier in splits.setdefault(split, {}):
                raise InputError(f"identifier {example.identifier!r} occurs twice in {split}")
        splits[split][example.identifier] = example
    return {split: list(members.values()) for split, members in splits.items()}


def read_table(path: Path, world: World) -> dict[str, list[Example]]:
    """Returns the examples of a file that `export` wrote, by split."""
    try:
        found = examples_of(_parquet_rows(path) if path.suffix == ".parquet" else _json_rows(path), world)
    except InputError as error:
        raise error if str(error.where or "").startswith(str(path)) else error.at(path) from None
    if not found:
        raise InputError("has no rows", where=path)
    return found


def _json_rows(path: Path) -> Iterator[Row]:
    with opened(path) as stream:
        for number, record in json_objects(read_lines(stream)):
            if isinstance(record, InputError):
                raise record.at(f"line {number}")
            yield record


def _parquet_rows(path: Path) -> Iterator[Row]:
    with opened(path) as stream:
        table = open_parquet(stream, path)
        names = [name for name in table.schema_arrow.names if name != "image"]
        for batch in parquet_batches(table, path, ROWS_PER_GROUP, columns=names):
            yield from batch.to_pylist()


def open_parquet(stream: BinaryIO, path: Path) -> Any:
    """Opens a Parquet file; raises InputError if it is none."""
    pa = pyarrow()
    try:
        return pa.parquet.ParquetFile(stream, buffer_size=1 << 20)  # reads large groups piece by piece
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"not a Parquet file ({first_line(error):.100})", where=path) from None


def parquet_batches(table: Any, path: Path, size: int, **choice: Any) -> Iterator[Any]:
    """Yields rows as pyarrow's record batches; raises InputError where the file is damaged."""
    batches = table.iter_batches(size, **choice)
    while True:
        try:
            batch = next(batches, None)
        except (pyarrow().ArrowException, OSError) as error:
            raise InputError(f"damaged ({first_line(error):.100})", where=path) from None
        if batch is None:
            return
        yield batch


def plain(value: Any) -> Any:
    """Returns a value of a row as JSON has it: pandas and `datasets` may return arrays, floats for whole numbers, and
    nulls where a field is absent."""
    if type(value).__module__.partition(".")[0] in ("numpy", "pandas"):
        value = value.tolist() if hasattr(value, "tolist") else None  # pandas.NA
    if isinstance(value, Mapping):
        return {name: member for name, each in value.items() if (member := plain(each)) is not None}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, float):
        return None if math.isnan(value) else int(value) if value.is_integer() else value
    return value


def _read(file: Path, world: World, images: bool) -> list[Example]:
    found, folder = worlds.read(file, world), file.parent / "images"
    if images and folder.is_dir():
        found = worlds.require(world, "with_pictures", "picture files")(found, folder, file.stem)
    return found


def _png(example: Example, world: World) -> bytes:
    if isinstance(example.picture, Path):
        # A damaged file is an error, here as in training.
        worlds.require(world, "read_picture", "exact pictures")(example.picture)
        return example.picture.read_bytes()
    content: bytes = worlds.require(world, "png", "exact pictures")(example.scene)
    return content


def _json_lines(rows: Iterable[Row]) -> bytes:
    # ASCII: many readers also end a line at U+0085 or U+2028. Only pictures are no JSON values.
    lines = (json.dumps(found, default=lambda content: base64.b64encode(content).decode()) for found in rows)
    return "".join(f"{line}\n" for line in lines).encode()


def _parquet(rows: Iterable[Row], world: World, images: bool) -> bytes:
    pa = pyarrow()
    numbers = pa.int64() if world.whole else pa.float64()
    places = world.fields if world.has_free_extents else world.fields[:2]
    columns = [(name, numbers) for name in places]
    for each in world.attributes:
        is_text = any(isinstance(choice.stored, str) for choice in each.choices)
        is_whole = world.whole or all(isinstance(choice.stored, int) for choice in each.choices)
        number = pa.int64() if each.choices and is_whole else pa.float64()
        columns.append((each.field, pa.string() if is_text else number))
    item = pa.struct(columns)
    fields = [("identifier", pa.string()), ("statement", pa.string()), ("label", pa.bool_())]
    fields += [("split", pa.string()), ("directory", pa.string()), ("scene", pa.list_(pa.list_(item)))]
    fields += [("image", pa.struct([("bytes", pa.binary()), ("path", pa.string())]))] if images else []
    if images:
        rows = (found | {"image": {"bytes": found["image"], "path": None}} for found in rows)
    return parquet_of(rows, pa.schema(fields))


def parquet_of(rows: Iterable[Mapping[str, Any]], schema: Any) -> bytes:
    """Returns the content of a parquet file with these rows."""
    pa, stream, waiting = pyarrow(), io.BytesIO(), iter(rows)
    with pa.parquet.ParquetWriter(stream, schema) as writer:
        while group := list(islice(waiting, ROWS_PER_GROUP)):
            writer.write_table(pa.Table.from_pylist(group, schema=schema))
    return stream.getvalue()


def pyarrow() -> Any:
    """Returns the package, with its part for parquet files."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise missing_package(error) from None
    return pyarrow
