"""Pictures of scenes: reading them from files, within limits, and cutting out the boxes.

A picture is an array (height, width, RGB) of uint8.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError

from veriscene.errors import InputError
from veriscene.files import opened
from veriscene.world.scene import BOX_EXTENT, BOXES_PER_SCENE
from veriscene.worlds.nlvr.raster import BACKGROUND, BOX_PITCH, WIDTH, Pixels

MAX_FILE = 16 << 20  # bytes; a picture of the corpus has about 3,000
MAX_WIDTH = 4096
ASPECT_TOLERANCE = 0.05  # for pictures of any size, which scaling and cropping may have changed a little

_SIZE = (WIDTH, BOX_EXTENT)
_MODES = {"1", "L", "LA", "P", "PA", "RGB", "RGBA"}
_PNG_END = b"IEND\xaeB`\x82"


def read(path: str | Path) -> Pixels:
    """The pixels of one of the corpus's PNGs (RGB, RGBA or palette), (100, 400, 3); raises InputError for any other
    file. Transparent pixels are laid over the background of a box."""
    path = Path(path)
    return _decode(_content(path), path, formats=("PNG",), exact=True)


def of_any_size(path: str | Path) -> Pixels:
    """The pixels of a PNG or JPEG of any size up to 4096 x 1024 whose sides are about 4 to 1, not resized; raises
    InputError for any other file."""
    path = Path(path)
    return _decode(_content(path), path, formats=("PNG", "JPEG"), exact=False)


def from_bytes(content: bytes) -> Pixels:
    """Like `of_any_size`, from the contents of a file."""
    return _decode(content, None, formats=("PNG", "JPEG"), exact=False)


def cut(picture: Pixels) -> Pixels:
    """The three boxes of a (100, 400, channel) picture, (3, 100, 100, channel)."""
    return np.stack([picture[:, left : left + BOX_EXTENT] for left in range(0, BOXES_PER_SCENE * BOX_PITCH, BOX_PITCH)])


def to_png(pixels: Pixels) -> bytes:
    """A PNG file with exactly these pixels, (height, width, RGB or RGBA)."""
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()


def _content(path: Path) -> bytes:
    with opened(path) as stream:
        return stream.read(MAX_FILE + 1)


def _decode(content: bytes, where: Path | None, *, formats: tuple[str, ...], exact: bool) -> Pixels:
    names = " or ".join(formats)
    if len(content) > MAX_FILE:
        raise InputError("is too large", where=where, allowed=f"a picture has at most {MAX_FILE:,} bytes")
    try:
        with Image.open(io.BytesIO(content), formats=formats) as image:
            _check_size(image.size, where, exact=exact)
            if image.mode not in _MODES:
                what = f"has the colour mode {image.mode}"
                raise InputError(what, where=where, allowed="allowed: 8 bits of grey, palette, RGB or RGBA")
            if image.format == "PNG" and _PNG_END not in content:
                raise InputError("is cut off", where=where, allowed="its last part is missing")
            return _rgb(image)
    except UnidentifiedImageError:
        raise InputError(f"not a {names} picture", where=where) from None
    except Image.DecompressionBombError:
        raise InputError("has too many pixels", where=where, allowed=_allowed_size(exact=exact)) from None
    except Exception as error:  # Pillow's decoders raise OSError, SyntaxError, ValueError, struct.error and others
        if isinstance(error, InputError):
            raise
        what = f"cannot be decoded ({next(iter(str(error).splitlines()), type(error).__name__)})"
        raise InputError(what, where=where, allowed=f"is it a damaged or truncated {names} file?") from None


def _check_size(size: tuple[int, int], where: Path | None, *, exact: bool) -> None:
    width, height = size
    is_similar = width <= MAX_WIDTH and abs(width - 4 * height) <= ASPECT_TOLERANCE * width
    if size != _SIZE if exact else not is_similar:
        raise InputError(f"is {width} x {height} pixels", where=where, allowed=_allowed_size(exact=exact))


def _allowed_size(*, exact: bool) -> str:
    if exact:
        return f"it must be {WIDTH} x {BOX_EXTENT}"
    return f"it must be four times as wide as high, such as {WIDTH} x {BOX_EXTENT}, and at most {MAX_WIDTH} wide"


def _rgb(image: Image.Image) -> Pixels:
    if image.mode != "RGB":
        image = image.convert("RGBA")  # straight to RGB would lose the transparency of a palette, with a warning
        if image.getchannel("A").getextrema() != (255, 255):
            grey = Image.new("RGBA", image.size, (BACKGROUND, BACKGROUND, BACKGROUND, 255))
            image = Image.alpha_composite(grey, image)
    return np.array(image.convert("RGB"))
