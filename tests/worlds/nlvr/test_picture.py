"""Reading pictures: exactly what the file shows, and one clear line for every file that is none of the corpus's."""

from __future__ import annotations

import importlib
import io
import random
import struct
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from samples import random_scene
from veriscene.errors import InputError
from veriscene.worlds.nlvr import pictures as picture
from veriscene.worlds.nlvr.raster import pixels

PIXELS = pixels(random_scene(random.Random(3)))


def png(image: Image.Image, **options: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, "PNG", **options)
    return stream.getvalue()


def header(width: int, height: int) -> bytes:
    """A PNG that claims a size and has next to nothing to show for it."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    fields = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", fields) + chunk(b"IDAT", zlib.compress(bytes(100))) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("mode", ["RGBA", "RGB", "P"])
def test_every_mode_of_the_corpus_is_read_exactly(mode: str, tmp_path: Path) -> None:
    image = Image.fromarray(PIXELS)
    # Items of three colours and their antialiased edges have fewer than 256 colours.
    image = image.convert("RGB").quantize(256) if mode == "P" else image.convert(mode)
    (tmp_path / "p.png").write_bytes(png(image))
    for read in (picture.read(tmp_path / "p.png"), picture.of_any_size(str(tmp_path / "p.png"))):
        assert read.shape == (100, 400, 3) and read.dtype == np.uint8
        assert np.array_equal(read, np.asarray(image.convert("RGB")))
    if mode != "P":
        assert np.array_equal(read, PIXELS[..., :3])
    assert np.array_equal(picture.from_bytes(picture.to_png(PIXELS)), PIXELS[..., :3])


def test_transparent_pixels_show_the_background_of_a_box(tmp_path: Path) -> None:
    transparent = PIXELS.copy()
    transparent[:, :100] = 0
    (tmp_path / "p.png").write_bytes(png(Image.fromarray(transparent)))
    read = picture.read(tmp_path / "p.png")
    assert (read[:, :100] == 211).all() and np.array_equal(read[:, 100:], PIXELS[:, 100:, :3])
    palette = Image.fromarray(PIXELS).convert("RGB").quantize(16)
    (tmp_path / "p.png").write_bytes(png(palette, transparency=bytes(16)))
    assert (picture.read(tmp_path / "p.png") == 211).all()


def test_warnings_of_the_host_process_are_its_own_business() -> None:
    before = list(warnings.filters)
    importlib.reload(picture)
    assert warnings.filters == before
    with pytest.raises(InputError), pytest.warns(Image.DecompressionBombWarning):
        picture.from_bytes(header(11_000, 11_000))


def test_boxes_are_cut_at_their_places() -> None:
    cut = picture.cut(PIXELS)
    assert cut.shape == (3, 100, 100, 4)
    for number, box in enumerate(cut):
        assert np.array_equal(box, PIXELS[:, 150 * number : 150 * number + 100])


@pytest.mark.parametrize(("size", "format"), [((800, 200), "PNG"), ((200, 50), "JPEG"), ((410, 100), "PNG")])
def test_other_sizes_are_read_only_where_they_are_asked_for(size: tuple[int, int], format: str, tmp_path: Path) -> None:
    path = tmp_path / "scaled"
    image = Image.fromarray(PIXELS).convert("RGB").resize(size)
    image.save(path, format)
    read = picture.of_any_size(path)
    assert read.shape == (size[1], size[0], 3)
    assert format == "JPEG" or np.array_equal(read, np.asarray(image))
    with pytest.raises(InputError, match="PNG" if format == "JPEG" else f"{size[0]} x {size[1]} .*400 x 100"):
        picture.read(path)


GREY16 = png(Image.fromarray(np.zeros((100, 400), np.uint16)))
BAD = {
    b"": "PNG",
    b"There is a box.": "PNG",
    b"\x89PNG\r\n\x1a\n": "PNG",
    header(400, 100): "PNG",
    header(100, 400): "100 x 400",
    header(60_000, 15_000): "pixels",
    header(11_000, 11_000): "11000 x 11000",
    header(2**31 - 1, 2**31 - 1): "pixels",
    GREY16: "I;16",
    b"\0" * (picture.MAX_FILE + 1): f"{picture.MAX_FILE:,}",
}


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize(("content", "named"), BAD.items(), ids=lambda value: repr(value)[:30])
def test_a_bad_file_is_one_line(content: bytes, named: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.png"
    path.write_bytes(content)
    for read in (picture.read, picture.of_any_size):
        with pytest.raises(InputError, match=named) as caught:
            read(path)
        assert caught.value.where == path and "\n" not in str(caught.value)


def test_what_cannot_be_opened_is_one_line(tmp_path: Path) -> None:
    for path in (tmp_path / "none.png", tmp_path):
        with pytest.raises(InputError) as caught:
            picture.read(path)
        assert caught.value.where == path


def test_a_file_that_is_cut_off_anywhere_is_refused(tmp_path: Path) -> None:
    whole, path = png(Image.fromarray(PIXELS)), tmp_path / "cut.png"
    for length in (*range(0, len(whole), 97), *range(len(whole) - 20, len(whole))):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError):
            picture.read(path)


@pytest.mark.parametrize("format", ["PNG", "JPEG"])
def test_a_damaged_file_is_read_or_refused(format: str) -> None:
    """Pillow raises many kinds of exception."""
    stream, rng = io.BytesIO(), random.Random(0)
    Image.fromarray(PIXELS).convert("RGB").save(stream, format)
    refused = 0
    for _ in range(300):
        damaged = bytearray(stream.getvalue())
        for _ in range(rng.randint(1, 4)):
            damaged[rng.randrange(min(len(damaged), rng.choice((60, 10_000))))] = rng.randrange(256)
        try:
            assert picture.from_bytes(bytes(damaged)).ndim == 3
        except InputError as error:
            refused += 1
            assert "\n" not in str(error)
    assert refused > 50
