"""Corpora as flat tables, one row per example: JSON lines or parquet, as Hugging Face `datasets` reads them.

| column | |
| --- | --- |
| identifier | n-m: presentation n, picture m |
| statement | text |
| label | true, false or null |
| split | train, dev, …: the name of the file |
| directory | text or null |
| scene | three lists of items, each with x_loc, y_loc, size, type, color, as NLVR's `structured_rep` |
| image | on demand: a PNG file; base64 text in JSON lines, a struct of bytes and path (`datasets.Image`) in parquet |
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from veriscene.data.statistics import split_files
from veriscene.errors import InputError, MissingRequirement
from veriscene.files import check_absent, opened, write_bytes
from veriscene.world import drawing as render
from veriscene.world.scene import scene_to_json
from veriscene.worlds.nlvr import corpus as nlvr
from veriscene.worlds.nlvr import picture
from veriscene.worlds.nlvr.corpus import Example
from veriscene.worlds.nlvr.picture_files import with_pictures

FORMATS = ("jsonl", "parquet")
ROWS_PER_GROUP = 4096  # of a parquet file; what is held in memory besides the file itself

Row = dict[str, Any]
Progress = Callable[[int, int], None]


def export(path: Path, out: Path, *, kind: str, images: bool, progress: Progress) -> int:
    """Writes all splits of a corpus folder, or one NLVR file, to a new file, completely or not at all; returns the
    number of rows.

    `images` adds pictures: those in the split's folder `images`, which must then be complete, else rendered ones.
    """
    if kind not in FORMATS:
        raise InputError(f"unknown format {kind!r}", allowed=f"choose from {', '.join(FORMATS)}")
    check_absent(out)
    write = _parquet if kind == "parquet" else _json_lines
    if kind == "parquet":
        _pyarrow()  # before the corpus is read
    splits = {file.stem: _read(file, images) for file in split_files([path])}
    total = sum(map(len, splits.values()))

    def rows() -> Iterator[Row]:
        done = 0
        for split, examples in splits.items():
            for example in examples:
                yield row(example, split, images=images)
                done += 1
                progress(done, total)

    write_bytes(out, write(rows(), images))
    return total


def row(example: Example, split: str, *, images: bool) -> Row:
    columns: Row = {
        "identifier": example.identifier,
        "statement": example.statement,
        "label": example.label,
        "split": split,
        "directory": example.directory,
        "scene": scene_to_json(example.scene),
    }
    return columns | ({"image": _png(example)} if images else {})


def _read(file: Path, images: bool) -> list[Example]:
    examples, folder = nlvr.read(file), file.parent / "images"
    return with_pictures(examples, folder, file.stem) if images and folder.is_dir() else examples


def _png(example: Example) -> bytes:
    if isinstance(example.picture, Path):
        picture.read(example.picture)  # a damaged file is an error, here as in training
        with opened(example.picture) as stream:
            return stream.read()
    return picture.to_png(render.pixels(example.scene))


def _json_lines(rows: Iterable[Row], images: bool) -> bytes:
    def as_text(found: Row) -> Row:
        return found | ({"image": base64.b64encode(found["image"]).decode()} if images else {})

    # ASCII: many readers also end a line at U+0085 or U+2028.
    return "".join(json.dumps(as_text(found)) + "\n" for found in rows).encode()


def _parquet(rows: Iterable[Row], images: bool) -> bytes:
    pa = _pyarrow()
    import pyarrow.parquet

    whole, words = ("x_loc", "y_loc", "size"), ("type", "color")
    item = pa.struct([*((name, pa.int64()) for name in whole), *((name, pa.string()) for name in words)])
    fields = [("identifier", pa.string()), ("statement", pa.string()), ("label", pa.bool_())]
    fields += [("split", pa.string()), ("directory", pa.string()), ("scene", pa.list_(pa.list_(item)))]
    fields += [("image", pa.struct([("bytes", pa.binary()), ("path", pa.string())]))] if images else []
    schema, stream = pa.schema(fields), io.BytesIO()
    with pyarrow.parquet.ParquetWriter(stream, schema) as writer:
        waiting = iter(rows)
        while group := list(islice(waiting, ROWS_PER_GROUP)):
            if images:
                group = [found | {"image": {"bytes": found["image"], "path": None}} for found in group]
            writer.write_table(pa.Table.from_pylist(group, schema=schema))
    return stream.getvalue()


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        install = "install it with: pip install 'veriscene[export]'"
        raise MissingRequirement("pyarrow is not installed", allowed=install) from None
    return pyarrow
