"""An unlimited stream of rendered scenes with what is where in them, drawn by worker processes.

Pretraining sees no picture of a corpus. Its scenes are a little harder than NLVR's: besides towers and scattered items
as in the corpus there are boxes with as many items as fit, close together and at the walls.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from veriscene.language.bulk.arrays import COLORS, FIELDS, SIZES, SceneArrays
from veriscene.models.vision import cells
from veriscene.models.vision.eyes import resized
from veriscene.world.scene import BOXES_PER_SCENE, MOST_ITEMS, Scene, Size
from veriscene.worlds.nlvr import raster
from veriscene.worlds.nlvr.distort import DISTORTIONS, random_distortion
from veriscene.worlds.nlvr.raster import Pixels
from veriscene.worlds.nlvr.scene_drawing import draw_scenes, scatter

CROWDED, TOWERS = 0.3, 0.3  # shares of scenes; the others are scattered items
CROWDED_SIZES = (Size.SMALL, Size.SMALL, Size.MEDIUM, Size.LARGE)  # eight items rarely fit otherwise
PREFETCHED = 2  # batches per worker, in shared memory: 46 MB each for eyes

Sample = tuple[Tensor, Tensor]  # pixels, uint8; cells.targets (box, head, row, column), int8
Draw = Callable[[Scene, np.random.Generator], Pixels]  # pixels of a scene as the network gets them


def distorted_picture(scene: Scene, rng: np.random.Generator) -> Pixels:
    """(100, 400, RGB): a picture as Eyes get it, after a random distortion."""
    return resized(random_distortion(_picture(scene), rng))


def clean_picture(scene: Scene, rng: np.random.Generator) -> Pixels:
    """(100, 400, RGB): a picture as Eyes get it, in the corpus's exact pixels."""
    return _picture(scene)


def tested_picture(scene: Scene, rng: np.random.Generator) -> Pixels:
    """(100, 400, RGB): a picture as Eyes get it, after a random one of the distortions of the robustness table."""
    return resized(list(DISTORTIONS.values())[rng.integers(len(DISTORTIONS))](_picture(scene), rng))


def clean_boxes(scene: Scene, rng: np.random.Generator) -> Pixels:
    """(3, 100, 100, RGB): the boxes as a backbone gets them."""
    return raster.boxes([scene])[0, ..., :3]


def _picture(scene: Scene) -> Pixels:
    return np.ascontiguousarray(raster.pixels(scene)[..., :3])


@dataclass(frozen=True)
class Rendered(IterableDataset[Sample]):
    """Batches of `scenes` new scenes without end; each worker's follow from the seed and its number."""

    draw: Draw
    scenes: int
    seed: int

    def __iter__(self) -> Iterator[Sample]:
        worker = get_worker_info()
        rng = np.random.default_rng((self.seed, 0 if worker is None else worker.id))
        while True:
            yield sample(self.draw, self.scenes, rng)


def sample(draw: Draw, count: int, rng: np.random.Generator) -> Sample:
    """`count` random scenes: what `draw` makes of each, stacked, and the targets of all their boxes."""
    scenes = random_scenes(rng, count)
    pixels = np.stack([draw(scene, rng) for scene in scenes])
    classes = cells.targets([box for scene in scenes for box in scene.boxes])
    return torch.from_numpy(pixels), torch.from_numpy(classes)


def loader(data: Rendered, workers: int) -> DataLoader[Sample]:
    """Batches of `data`, drawn by that many processes, or, with 0, by this one."""
    return DataLoader(
        data,
        batch_size=None,
        num_workers=workers,
        pin_memory=torch.cuda.is_available(),
        prefetch_factor=PREFETCHED if workers else None,
        multiprocessing_context="fork" if workers else None,  # faster than importing everything again
        worker_init_fn=_ignore_interrupts,
    )


def _ignore_interrupts(worker: int) -> None:
    """A Ctrl-C reaches all processes of a terminal; the main one ends the workers when it has saved."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def random_scenes(rng: np.random.Generator, count: int) -> list[Scene]:
    """Scenes of NLVR's two kinds and crowded ones, in random order."""
    crowded, towers, scattered = rng.multinomial(count, (CROWDED, TOWERS, 1 - CROWDED - TOWERS))
    palette = [np.tile(values, (crowded * BOXES_PER_SCENE, 1)) for values in (_ANY, _ANY, _CROWDED_SIZES)]
    boxes = scatter(rng, palette, np.full(len(palette[0]), MOST_ITEMS))
    drawn = SceneArrays.concatenated(
        [
            SceneArrays(boxes.reshape(len(FIELDS), crowded, BOXES_PER_SCENE, MOST_ITEMS)),
            draw_scenes(rng, "tower", towers),
            draw_scenes(rng, "scatter", scattered),
        ]
    )
    return drawn[rng.permutation(count)].scenes()


_ANY = np.arange(len(COLORS))  # every colour, every shape
_CROWDED_SIZES = np.array([SIZES.index(size) for size in CROWDED_SIZES])
