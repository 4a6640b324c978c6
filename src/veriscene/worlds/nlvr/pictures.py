"""Pictures of scenes: reading them from files, within limits, and cutting out the boxes.

A picture is an array (height, width, RGB) of uint8.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError

from veriscene.errors import InputError, first_line, located
from veriscene.files import NEW_FOLDER, filled, opened
from veriscene.output import Progress
from veriscene.world import drawing
from veriscene.world.corpus import SPLITS
from veriscene.world.examples import Example
from veriscene.world.scene import Scene
from veriscene.world.schema import World
from veriscene.worlds.nlvr import raster
from veriscene.worlds.nlvr.looks import BOX_EXTENT, BOXES, WORLD
from veriscene.worlds.nlvr.raster import BACKGROUND, BOX_PITCH, WIDTH, Pixels

MAX_FILE = 16 << 20  # bytes; a picture of the corpus has about 3,000
MAX_WIDTH = 4096
ASPECT_TOLERANCE = 0.05  # for pictures of any size, which scaling and cropping may have changed a little

_MODES = {"1", "L", "LA", "P", "PA", "RGB", "RGBA"}
_PNG_END = b"IEND\xaeB`\x82"


def read(path: str | Path) -> Pixels:
    """Returns the pixels of one of the corpus's PNGs (RGB, RGBA or palette), (100, 400, 3); raises InputError for any
    other file. Transparent pixels are laid over the background of a box."""
    with opened(Path(path)) as stream:
        return _decode(stream.read(MAX_FILE + 1), Path(path), formats=("PNG",), exact=True)


def of_any_size(path: str | Path) -> Pixels:
    """Returns the pixels of a PNG or JPEG of any size up to 4096 x 1024 whose sides are about 4 to 1, not resized;
    raises InputError for any other file."""
    with opened(Path(path)) as stream:
        return from_bytes(stream.read(MAX_FILE + 1), Path(path))


def from_bytes(content: bytes, where: Path | None = None) -> Pixels:
    """Like `of_any_size`, from the contents of a file."""
    return _decode(content, where, formats=("PNG", "JPEG"), exact=False)


def cut(picture: Pixels) -> Pixels:
    """Returns the three boxes of a (100, 400, channel) picture, (3, 100, 100, channel)."""
    return np.stack([picture[:, left : left + BOX_EXTENT] for left in range(0, BOXES * BOX_PITCH, BOX_PITCH)])


def png(scene: Scene) -> bytes:
    """Returns the PNG file of a scene, with the corpus's exact pixels."""
    return to_png(raster.pixels(scene))


def to_png(pixels: Pixels) -> bytes:
    """Returns a PNG file with exactly these pixels, (height, width, RGB or RGBA)."""
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()


def _decode(content: bytes, where: Path | None, *, formats: tuple[str, ...], exact: bool) -> Pixels:
    names, size = " or ".join(formats), f"{WIDTH} x {BOX_EXTENT}"
    allowed = f"it must be four times as wide as high, such as {size}, and at most {MAX_WIDTH} wide"
    allowed = f"it must be {size}" if exact else allowed
    if len(content) > MAX_FILE:
        raise InputError("is too large", where=where, allowed=f"a picture has at most {MAX_FILE:,} bytes")
    try:
        with Image.open(io.BytesIO(content), formats=formats) as image:
            width, height = image.size
            is_similar = width <= MAX_WIDTH and abs(width - 4 * height) <= ASPECT_TOLERANCE * width
            if image.size != (WIDTH, BOX_EXTENT) if exact else not is_similar:
                raise InputError(f"is {width} x {height} pixels", where=where, allowed=allowed)
            if image.mode not in _MODES:
                what = f"has the colour mode {image.mode}"
                raise InputError(what, where=where, allowed="allowed: 8 bits of grey, palette, RGB or RGBA")
            if image.format == "PNG" and _PNG_END not in content:
                raise InputError("is cut off", where=where, allowed="its last part is missing")
            return _rgb(image)
    except UnidentifiedImageError:
        raise InputError(f"not a {names} picture", where=where) from None
    except Image.DecompressionBombError:
        raise InputError("has too many pixels", where=where, allowed=allowed) from None
    except InputError:
        raise
    except Exception as error:  # Pillow's decoders raise OSError, SyntaxError, ValueError, struct.error and others
        what = f"cannot be decoded ({first_line(error)})"
        raise InputError(what, where=where, allowed=f"is it a damaged or truncated {names} file?") from None


def _rgb(image: Image.Image) -> Pixels:
    if image.mode != "RGB":
        image = image.convert("RGBA")  # straight to RGB would lose the transparency of a palette, with a warning
        if image.getchannel("A").getextrema() != (255, 255):
            grey = Image.new("RGBA", image.size, (BACKGROUND, BACKGROUND, BACKGROUND, 255))
            image = Image.alpha_composite(grey, image)
    return np.array(image.convert("RGB"))


# ---------------------------------------------------------------- picture files

# The picture files of a corpus: `SPLIT/images/DIRECTORY/SPLIT-IDENTIFIER-k.png`, k from 0 to 5. k is the number of a
# permutation of the three boxes, in the order of `itertools.permutations(range(3))`; 0 is the order of the structured
# form. Files are found by their names, because the hidden split's examples have no `directory`.

PERMUTATIONS = tuple(permutations(range(BOXES)))

_NAME = re.compile(r"(?P<split>.+)-(?P<identifier>[^-]+-[^-]+)-(?P<permutation>[0-5])\.png")


def file_name(split: str, identifier: str, permutation: int, suffix: str = ".png") -> str:
    return f"{split}-{identifier}-{permutation}{suffix}"


def permuted(scene: Scene, permutation: int) -> Scene:
    """Returns the scene as picture number `permutation` shows it."""
    return Scene(tuple(scene.boxes[box] for box in PERMUTATIONS[permutation]))


def find_pictures(folder: Path, split: str | None) -> dict[str, list[Path]]:
    """Returns the 1 to 6 pictures of each example of a split below `folder`, by identifier, in order of permutations.

    If `split` is None, the folder must hold pictures of only one.
    """
    by_split: dict[str, dict[str, dict[str, Path]]] = {}
    for path in pictures_below(folder):
        if match := _NAME.fullmatch(path.name):
            numbered = by_split.setdefault(match["split"], {}).setdefault(match["identifier"], {})
            other = numbered.setdefault(match["permutation"], path)
            if other != path:
                allowed = "name a folder that holds each picture once"
                raise InputError(f"has the same name as {other}", where=path, allowed=allowed)
    chosen = [name for name in by_split if split is None or name == split]
    if len(chosen) != 1:
        found = f"holds pictures of {', '.join(sorted(by_split))}" if by_split else "holds no pictures of a corpus"
        expected = file_name(split or "SPLIT", "IDENTIFIER", 0)
        raise InputError(found, where=folder, allowed=f"it must hold those of one split, named {expected}")
    return {name: [path for _, path in sorted(numbered.items())] for name, numbered in by_split[chosen[0]].items()}


def pictures_below(folder: Path) -> list[Path]:
    """Returns all PNG files below a folder, sorted by path."""
    if not folder.is_dir():
        raise InputError("no such folder", where=folder)

    def refuse(error: OSError) -> None:
        raise InputError(f"cannot be read ({error.strerror})", where=error.filename) from None

    walk = os.walk(folder, onerror=refuse)
    return sorted(Path(parent, name) for parent, _, names in walk for name in names if name.endswith(".png"))


def with_pictures(examples: Sequence[Example], folder: Path, split: str) -> list[Example]:
    """Returns the examples of a split, each with its picture in the box order of its scene (number 0)."""
    found = find_pictures(folder, split).items()
    first = {identifier: paths[0] for identifier, paths in found if paths[0].name.endswith("-0.png")}
    missing = [example.identifier for example in examples if example.identifier not in first]
    _check_none_missing(missing, folder, "complete the pictures, or remove the folder to have them rendered")
    return [replace(example, picture=first[example.identifier]) for example in examples]


def each_picture(examples: Iterable[Example], folder: Path, file: Path) -> list[Example]:
    """Returns one example for each picture of each example, which were read from `file`.

    Their identifiers end with the number of the permutation, `n-m-k`, so that presentations stay together. A file that
    has not the name of one of the corpus's splits takes the pictures that there are.
    """
    found = find_pictures(folder, file.stem if file.stem in SPLITS else None)
    pictured: list[Example] = []
    missing: list[str] = []
    for example in examples:
        paths = found.get(example.identifier, [])
        pictured += [replace(example, identifier=_numbered(path.name), picture=path) for path in paths]
        missing += [] if paths else [example.identifier]
    _check_none_missing(missing, folder, "every example must have one to six")
    return pictured


def per_picture(examples: Iterable[Example], verdicts: Mapping[str, bool]) -> tuple[list[Example], dict[str, bool]]:
    """Examples and verdicts for scoring predictions by file name: one example for each of its pictures that was
    predicted, both by `n-m-k`. An example without predictions stays as it is, so that it is found to be missing.
    """
    by_number = {_numbered(name): verdict for name, verdict in verdicts.items()}
    if len(by_number) < len(verdicts):
        raise InputError("pictures of several splits have the same identifier", allowed="predict one split")
    predicted: dict[str, list[str]] = {}
    for number in by_number:
        predicted.setdefault(number.rpartition("-")[0], []).append(number)
    pictured = [
        replace(example, identifier=number)
        for example in examples
        for number in predicted.get(example.identifier, [example.identifier])
    ]
    return pictured, by_number


def written_name(example: Example) -> str:
    """Returns the example's name in a prediction file: its picture's file name, if it has one."""
    return example.picture.name if isinstance(example.picture, Path) else example.identifier


def _numbered(name: str) -> str:
    """`n-m-k` of a file name."""
    match = _NAME.fullmatch(name)
    if match is None:
        allowed = f"a picture is named {file_name('SPLIT', 'IDENTIFIER', 0)}, with a number from 0 to 5"
        raise InputError(f"{name[:60]!r} is not the name of a picture", allowed=allowed)
    return f"{match['identifier']}-{match['permutation']}"


def _check_none_missing(identifiers: Sequence[str], folder: Path, allowed: str) -> None:
    if identifiers:
        what = f"has no picture for {len(identifiers):,} of the examples (the first: {identifiers[0]!r})"
        raise InputError(what, where=folder, allowed=allowed)


# ---------------------------------------------------------------- whole files of examples, folders of pictures

FORMATS = ("png", "svg")
EXAMPLES_PER_FOLDER = 250  # of examples without a directory


def render_scene(world: World, scene: Scene, kind: str) -> bytes:
    """Returns the contents of a picture file; a PNG has the corpus's exact pixels, so it is for NLVR's world only."""
    if kind == "svg":
        return f"{drawing.svg(world, scene)}\n".encode()
    if world != WORLD:
        raise InputError(f"the world {world.name} has no exact pixels", allowed="draw its scenes as svg")
    return png(scene)


def render_examples(
    world: World, examples: Sequence[Example], folder: Path, *, split: str, kind: str, count: int, progress: Progress
) -> None:
    """Writes the first `count` pictures of each example to a new folder, DIRECTORY/SPLIT-IDENTIFIER-k.png (or .svg).

    Examples without a directory go to numbered folders, in the order of the file. On failure, removes what it created.
    """
    if not 1 <= count <= len(PERMUTATIONS):
        raise InputError(f"{count} pictures of a scene", allowed=f"there are 1 to {len(PERMUTATIONS)} orders of boxes")
    directories = [_directory(example, number) for number, example in enumerate(examples)]
    with filled(folder, hint=NEW_FOLDER) as partial:
        for done, (example, directory) in enumerate(zip(examples, directories, strict=True), 1):
            for number in range(count):
                name = file_name(split, example.identifier, number, f".{kind}")
                scene = permuted(example.scene, number) if number else example.scene
                (partial / directory).mkdir(exist_ok=True)
                (partial / directory / name).write_bytes(render_scene(world, scene, kind))
            progress(done, len(examples))


def _directory(example: Example, number: int) -> str:
    """The name of the example's folder; raises InputError if its files would lie elsewhere."""
    directory = str(number // EXAMPLES_PER_FOLDER) if example.directory is None else example.directory
    for field, name in (("directory", directory), ("identifier", example.identifier)):
        if not name or name in (".", "..") or "/" in name or "\\" in name or "\0" in name:
            raise InputError(f"{field}: {name[:60]!r} cannot be the name of a file or folder", where=example.place)
    return directory


def decode_folder(folder: Path, progress: Progress) -> Iterator[dict[str, object]]:
    """Yields `identifier`, `picture` (its path in the folder) and `structured_rep` of each PNG below a folder."""
    paths = pictures_below(folder)
    if not paths:
        raise InputError("holds no PNG files", where=folder)
    for done, path in enumerate(paths, 1):
        match = _NAME.fullmatch(path.name)
        identifier = match["identifier"] if match else path.stem
        record = {"identifier": identifier, "picture": path.relative_to(folder).as_posix()}
        yield {**record, "structured_rep": WORLD.to_json_scene(decode_file(path))}
        progress(done, len(paths))


def decode_file(path: Path) -> Scene:
    """Returns the scene that a PNG shows; raises InputError unless every pixel is that of a rendered scene."""
    pixels = read(path)
    with located(path):
        return raster.decode(pixels)
