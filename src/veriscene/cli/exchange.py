"""`veriscene data import` and `veriscene data export`: own data into a corpus folder, a corpus into other tools."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from veriscene.cli.output import progress_bar
from veriscene.errors import InputError
from veriscene.files import created
from veriscene.worlds.nlvr import corpus as nlvr

if TYPE_CHECKING:
    from veriscene.world.scene import Scene


def import_(
    table: Annotated[
        Path, typer.Argument(metavar="STATEMENTS.csv", readable=False, help="Columns: statement, scene, label.")
    ],
    scenes: Annotated[Path, typer.Argument(readable=False, help="Folder of the files that the column scene names.")],
    out: Annotated[Path, typer.Argument(readable=False, help="New corpus folder.")],
    dev_share: Annotated[float, typer.Option(min=0.01, max=0.9, help="Share of the statements kept for dev.")] = 0.1,
    seed: Annotated[int, typer.Option(help="Of the choice of dev statements.")] = 1,
    eyes: Annotated[
        bool, typer.Option("--eyes", help="Recognise items in scaled or recompressed pictures; else pixels are exact.")
    ] = False,
) -> None:
    """Make a corpus folder of own statements and scenes, for `veriscene train --data`.

    A scene is a JSON file (three boxes, or an object with `structured_rep`) or a picture in NLVR's look. All scenes of
    a statement go to the same split.

    Example: veriscene data import statements.csv scenes corpus --dev-share 0.2
    """
    from veriscene.data import own
    from veriscene.worlds.nlvr.pictures import decode_file

    see = _with_eyes() if eyes else decode_file
    with created(out, fill=own.PARTS, hint="name a new or an empty folder"):
        try:
            examples = own.split(own.read_table(table, scenes, see), dev_share=dev_share, seed=seed)
        except InputError as error:
            raise error if error.where else error.at(table) from None
        own.write(out, examples, dev_share=dev_share, seed=seed)
    for split, found in examples.items():
        statements = len({example.presentation for example in found})
        print(f"{nlvr.split_file(out, split)}: {len(found):,} examples of {statements:,} statements")


def _with_eyes() -> Callable[[Path], Scene]:
    from veriscene.models.vision.eyes import Eyes
    from veriscene.worlds.nlvr.picture import of_any_size

    eyes = Eyes.load()

    def see(path: Path) -> Scene:
        try:
            return eyes.scenes([of_any_size(path)])[0]
        except InputError as error:
            raise error if error.where == path else error.at(path) from None

    return see


def export(
    path: Annotated[Path, typer.Argument(metavar="CORPUS", readable=False, help="A corpus folder or an NLVR file.")],
    out: Annotated[Path, typer.Argument(readable=False, help="New file.")],
    kind: Annotated[
        str | None, typer.Option("--format", help="jsonl or parquet. Default: the end of the file's name.")
    ] = None,
    images: Annotated[bool, typer.Option("--images", help="Add PNGs: those of the corpus, or rendered ones.")] = False,
) -> None:
    """Write a corpus as one flat table, which Hugging Face `datasets` and pandas read.

    Columns: identifier, statement, label (true, false or null), split, directory, scene, image (with --images).

    Example: veriscene data export nlvr nlvr.parquet --images
    """
    from veriscene.data.tables import export as write_table

    kind = kind or out.suffix.removeprefix(".")
    with progress_bar("examples") as progress:
        rows = write_table(path, out, kind=kind, images=images, progress=progress)
    print(f"{out}: {rows:,} examples")
