"""Whole NLVR files as picture files, and folders of picture files as scenes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from veriscene.errors import InputError
from veriscene.files import created, write_bytes
from veriscene.world import drawing
from veriscene.world.examples import Example
from veriscene.world.scene import Scene
from veriscene.world.schema import World
from veriscene.worlds.nlvr import picture, raster
from veriscene.worlds.nlvr.decoder import scene as decode_scene
from veriscene.worlds.nlvr.looks import WORLD
from veriscene.worlds.nlvr.picture_files import PERMUTATIONS, file_name, identifier_of, permuted, pictures_below

FORMATS = ("png", "svg")
EXAMPLES_PER_FOLDER = 250  # of examples without a directory

Progress = Callable[[int, int], None]


def render_scene(world: World, scene: Scene, kind: str) -> bytes:
    """Returns the contents of a picture file; a PNG has the corpus's exact pixels, so it is for NLVR's world only."""
    if kind == "svg":
        return f"{drawing.svg(world, scene)}\n".encode()
    if world != WORLD:
        raise InputError(f"the world {world.name} has no exact pixels", allowed="draw its scenes as svg")
    return picture.to_png(raster.pixels(scene))


def render_examples(
    world: World, examples: Sequence[Example], folder: Path, *, split: str, kind: str, count: int, progress: Progress
) -> None:
    """Writes the first `count` pictures of each example to a new folder, DIRECTORY/SPLIT-IDENTIFIER-k.png (or .svg).

    Examples without a directory go to numbered folders, in the order of the file. On failure, removes what it created.
    """
    if not 1 <= count <= len(PERMUTATIONS):
        raise InputError(f"{count} pictures of a scene", allowed=f"there are 1 to {len(PERMUTATIONS)} orders of boxes")
    directories = [_directory(example, number) for number, example in enumerate(examples)]
    with created(folder, fill=set(directories), hint="name a new or an empty folder"):
        for done, (example, directory) in enumerate(zip(examples, directories, strict=True), 1):
            for number in range(count):
                name = file_name(split, example.identifier, number, f".{kind}")
                scene = permuted(example.scene, number) if number else example.scene
                write_bytes(folder / directory / name, render_scene(world, scene, kind))
            progress(done, len(examples))


def _directory(example: Example, number: int) -> str:
    """The name of the example's folder; raises InputError if its files would lie elsewhere."""
    directory = str(number // EXAMPLES_PER_FOLDER) if example.directory is None else example.directory
    for field, name in (("directory", directory), ("identifier", example.identifier)):
        if not name or name in (".", "..") or "/" in name or "\\" in name or "\0" in name:
            raise InputError(f"{field}: {name[:60]!r} cannot be the name of a file or folder", where=example.place)
    return directory


def decode_folder(folder: Path, progress: Progress) -> Iterator[dict[str, object]]:
    """For each PNG below a folder, by path: `identifier` and `picture` (its path in the folder), `structured_rep`."""
    paths = pictures_below(folder)
    if not paths:
        raise InputError("holds no PNG files", where=folder)
    for done, path in enumerate(paths, 1):
        record = {"identifier": identifier_of(path.name), "picture": path.relative_to(folder).as_posix()}
        yield {**record, "structured_rep": WORLD.to_json_scene(decode_file(path))}
        progress(done, len(paths))


def decode_file(path: Path) -> Scene:
    """The scene that a PNG shows; raises InputError unless every pixel is that of a rendered scene."""
    pixels = picture.read(path)
    try:
        return decode_scene(pixels)
    except InputError as error:
        raise error.at(path) from None
