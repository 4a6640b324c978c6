"""What eyes recognise in distorted pictures, beside the exact decoder, and how long they take on one core.

    python benchmarks/robustness.py ../shared/nlvr/dev/dev.json [--eyes FILE] [--model best] [--out robustness.md]

The pictures are those beside the file (DIR/images) or, if there are none, its scenes rendered, which gives the same
pixels. A box is exact if all of its items are recognised and nothing else, each with shape, color, size and position.
All pictures of one distortion are drawn from one generator, so that the table can be reproduced.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

import veriscene
from veriscene import files, worlds
from veriscene.errors import InputError
from veriscene.judge.judge import Judge, Question, checked
from veriscene.models.vision.eyes import Eyes
from veriscene.world.examples import Example
from veriscene.world.scene import Box, Scene
from veriscene.worlds.nlvr import pictures as picture
from veriscene.worlds.nlvr import raster
from veriscene.worlds.nlvr.distort import DISTORTIONS, Distortion, scale
from veriscene.worlds.nlvr.pictures import with_pictures
from veriscene.worlds.nlvr.raster import Pixels

TOLERANCE = 2  # pixels
CHUNK = 64  # pictures held at once
TIMED = 100  # scenes


@dataclass(frozen=True)
class Row:
    """Shares of boxes; `accuracy` of the verdicts on all examples, a picture that cannot be read counting as wrong."""

    distortion: str
    within_two: float
    exact: float
    decoder: float
    accuracy: float | None


def same_items(seen: Box, truth: Box, *, tolerance: int) -> bool:
    """Whether each item has its counterpart: the same kind, at most `tolerance` pixels away in x and in y."""
    left = list(seen.items)
    for item in truth.items:
        for other in left:
            if other.values == item.values and max(abs(other.x - item.x), abs(other.y - item.y)) <= tolerance:
                left.remove(other)
                break
        else:
            return False
    return not left


def decoded(pixels: Pixels) -> Sequence[Box]:
    """What the exact decoder finds: all or nothing."""
    try:
        return raster.decode(pixels).boxes
    except InputError:
        return [Box(())] * 3


def measure(name: str, examples: Sequence[Example], pictures: Sequence[Pixels], eyes: Eyes, judge: Judge | None) -> Row:
    rng, distort = np.random.default_rng(0), DISTORTIONS[name]
    truth = [box for example in examples for box in example.scene.boxes]
    seen: list[Box] = []
    found: list[Box] = []
    for chunk in _distorted(pictures, distort, rng):
        seen += eyes.boxes(chunk)
        found += [box for pixels in chunk for box in decoded(pixels)]

    def share(boxes: list[Box], tolerance: int) -> float:
        return statistics.mean(same_items(*pair, tolerance=tolerance) for pair in zip(boxes, truth, strict=True))

    accuracy = None if judge is None else _accuracy(judge, examples, seen)
    return Row(name, share(seen, TOLERANCE), share(seen, 0), share(found, 0), accuracy)


def _distorted(pictures: Sequence[Pixels], distort: Distortion, rng: np.random.Generator) -> Iterator[list[Pixels]]:
    for start in range(0, len(pictures), CHUNK):
        yield [distort(pixels, rng) for pixels in pictures[start : start + CHUNK]]


def _accuracy(judge: Judge, examples: Sequence[Example], seen: Sequence[Box]) -> float:
    scenes = [Scene(boxes) for boxes in zip(seen[0::3], seen[1::3], seen[2::3], strict=True)]
    asked = [pair for pair in zip(examples, scenes, strict=True) if all(box.items for box in pair[1].boxes)]
    answers = judge([Question(example.statement, scene) for example, scene in asked])
    right = sum(checked(verdict).verdict == example.label for verdict, (example, _) in zip(answers, asked, strict=True))
    return right / len(examples)


def milliseconds(eyes: Eyes, pictures: Sequence[Pixels]) -> float:
    """The median per picture, one at a time: resizing, network and decoding."""
    times = []
    for pixels in pictures:
        start = time.perf_counter()
        eyes.boxes([pixels])
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


def markdown(rows: Sequence[Row], model: str | None) -> str:
    columns = ["distortion", f"eyes, within {TOLERANCE} pixels", "eyes, exact", "exact decoder"]
    columns += [] if model is None else [f"accuracy of {model}"]
    lines = [f"| {' | '.join(columns)} |", f"| --- {'| ---: ' * (len(columns) - 1)}|"]
    for row in rows:
        shares = [row.within_two, row.exact, row.decoder, *([] if row.accuracy is None else [row.accuracy])]
        lines.append(f"| {row.distortion} | {' | '.join(f'{100 * share:.2f}' for share in shares)} |")
    return "\n".join(lines) + "\n"


def read_pictures(file: Path) -> tuple[list[Example], list[Pixels]]:
    """The examples of an NLVR file and their pictures, (100, 400, RGB)."""
    examples, folder = worlds.read(file), file.parent / "images"
    if not folder.is_dir():
        return examples, [np.ascontiguousarray(raster.pixels(example.scene)[..., :3]) for example in examples]
    paths = [example.picture for example in with_pictures(examples, folder, file.stem)]
    return examples, [picture.read(path) for path in paths if isinstance(path, Path)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path, help="an NLVR file such as dev.json")
    parser.add_argument("--eyes", type=Path, help="weights; default: those of the package")
    parser.add_argument("--model", help="also print the accuracy of this model behind the eyes")
    parser.add_argument("--device", default="cpu", help="for all but the time per scene")
    parser.add_argument("--out", type=Path, help="file for the table")
    options = parser.parse_args()
    torch.set_num_threads(1)
    examples, pictures = read_pictures(options.file)
    judge = None if options.model is None else veriscene.load(options.model, device=options.device)
    eyes, rows = Eyes.load(options.eyes, device=options.device), []
    for name in DISTORTIONS:
        rows.append(measure(name, examples, pictures, eyes, judge))
        print(rows[-1], flush=True)
    table = markdown(rows, options.model)
    on_cpu = Eyes.load(options.eyes)
    for label, timed in (("400 x 100", pictures), ("800 x 200", [scale(each, 2) for each in pictures[:TIMED]])):
        milliseconds(on_cpu, timed[:10])  # warm-up
        median = milliseconds(on_cpu, timed[:TIMED])
        table += f"\n{label} pixels: {median:.1f} ms per scene on one core (median of {TIMED})\n"
    print(table)
    if options.out is not None:
        files.write_text(options.out, table)


if __name__ == "__main__":
    main()
