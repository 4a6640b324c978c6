"""Pretraining of networks that see, on an unlimited stream of rendered scenes: what is where in each box.

`eyes` are trained on distorted pictures and used as they are. Of `resnet50-rendered`, the loss's random matrix is
thrown away afterwards, and the backbone is what remains. Neither sees a picture of a corpus. The scenes are a little
harder than NLVR's: besides towers and scattered items there are boxes with as many items as fit, close together and at
the walls.
"""

from __future__ import annotations

import itertools
import math
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from veriscene.data import eyes as cells
from veriscene.data.items import CORNER
from veriscene.errors import InputError, located
from veriscene.language.bulk.arrays import SceneArrays
from veriscene.models.base import read_weights
from veriscene.models.layers.geometry import encode_positions
from veriscene.models.vision.backbone import BACKBONES, Backbone, fill, save_weights
from veriscene.models.vision.eyes import Eyes, exact, loss
from veriscene.output import clock
from veriscene.training.distributed import interruptible
from veriscene.training.optimization import EMA, warmup_cosine
from veriscene.training.state import restore_progress, save_progress
from veriscene.world.scene import Scene
from veriscene.worlds.nlvr import raster
from veriscene.worlds.nlvr.distort import DISTORTIONS, random_distortion
from veriscene.worlds.nlvr.looks import BOX_EXTENT, BOXES, CLOSE, EXTENTS, MAX_ITEMS, WORLD, Color, Size
from veriscene.worlds.nlvr.raster import Pixels
from veriscene.worlds.nlvr.scenes import draw_scenes, scatter

RENDERED_BACKBONE = "resnet50-rendered"
NAMES = ("eyes", RENDERED_BACKBONE)
WARMUP_STEPS = 200
WEIGHT_DECAY = 0.02
EMA_DECAY = 0.998
CLIP_NORM = 1.0
HELD_OUT_BATCH = 64  # scenes
HELD_OUT_SEED = 0x5EE  # of scenes that no seed of training draws: those have a pair (seed, batch)
SECONDS_BETWEEN_LINES, SECONDS_BETWEEN_SAVES = 10.0, 60.0
CROWDED, TOWERS = 0.3, 0.3  # shares of scenes; the others are scattered items
# Indices of sizes; eight items rarely fit otherwise.
CROWDED_SIZES = np.array([list(Size).index(size) for size in (Size.SMALL, Size.SMALL, Size.MEDIUM, Size.LARGE)])
ANY = np.arange(len(Color))  # every colour, every shape
PREFETCHED = 2  # batches per worker, in shared memory: 46 MB each for eyes

Sample = tuple[Tensor, Tensor]  # pixels, uint8; cells.targets (box, head, row, column), int8
Draw = Callable[[Scene, np.random.Generator], Pixels]  # pixels of a scene as the network gets them


@dataclass(frozen=True)
class Settings:
    """Says how to train, and how long: until `seconds` or `steps` are over, whichever comes first."""

    seconds: float = math.inf
    steps: int = 1_000_000_000
    scenes: int = 384  # per step, three boxes each
    seed: int = 0
    workers: int = 0
    held_out: int = 512  # scenes that are judged for each progress line


@dataclass(frozen=True)
class Task:
    """Describes a network to pretrain."""

    scenes: int  # per step, by default
    learning_rate: float  # the highest
    network: nn.Module  # the pixels of `draw`, stacked -> (box, channel, GRID, GRID)
    draw: Draw
    save: Callable[[Path], None]
    held_out: Mapping[str, Draw]  # pixels on which the share of exact boxes is measured, by name
    loss: Callable[[Tensor, Tensor], Tensor] = loss  # of outputs and targets
    exact: Callable[[Tensor, Tensor], Tensor] = exact  # (box,): whether everything is right


@dataclass(frozen=True)
class Outcome:
    """Says how many steps were made, and whether the schedule was interrupted."""

    steps: int
    interrupted: bool


def eyes_task() -> Task:
    """Returns the task of training new eyes."""
    eyes = Eyes()
    held_out = {"clean": clean_picture, "distorted": tested_picture}
    return Task(384, 2e-3, eyes, distorted_picture, eyes.save, held_out)


def make_task(name: str, initial: Path | None = None) -> Task:
    """Returns the task of that name, with the weights in `initial` or fresh ones from torch's global generator."""
    if name not in NAMES:
        raise InputError(f"cannot pretrain {name!r:.60}", allowed=f"choose from {', '.join(NAMES)}")
    if name == "eyes" and initial is not None:  # their file has no batch normalisation any more
        raise InputError("eyes cannot be trained further", where=initial, allowed="train new ones, for longer")
    if name == "eyes":
        return eyes_task()
    backbone = BACKBONES[RENDERED_BACKBONE]()
    if initial is not None:
        with located(initial, unless_known=True):
            fill(backbone, read_weights(initial))
    network = TargetBackbone(backbone)

    def save(path: Path) -> None:
        save_weights(backbone, path, metadata={"trained": "veriscene pretrain " + RENDERED_BACKBONE})

    return Task(192, 1e-3, network, clean_boxes, save, {"clean": clean_boxes}, network.loss, network.exact)


class Pretrainer:
    """Trains until the end of the schedule or Ctrl-C; writes the averaged weights to `out` then and every minute,
    but never weights without any training. Until the end there is also what is needed to resume, beside them."""

    def __init__(
        self,
        task: Task,
        out: Path,
        settings: Settings,
        *,
        device: torch.device,
        say: Callable[[str], None],
        resume: bool = False,
    ) -> None:
        """With `resume`, continues exactly where an earlier training with these settings was interrupted."""
        self.task, self.out, self.settings, self.device, self.say = task, out, settings, device, say
        self.network = task.network.to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.optimizer = torch.optim.AdamW(self.network.parameters(), weight_decay=WEIGHT_DECAY)
        self.ema = EMA(self.network, decay=EMA_DECAY)
        self.state_file = out.with_suffix(".state.pt")
        self.parts = (self.state_file, self.network, self.optimizer, self.ema)
        self.same = {**asdict(settings), "workers": 0, "held_out": 0}  # these change nothing
        self.begin = restore_progress(*self.parts, settings=self.same) if resume else {"step": 0, "seconds": 0.0}
        rng = np.random.default_rng(HELD_OUT_SEED)
        self.held_out = {name: sample(draw, settings.held_out, rng) for name, draw in task.held_out.items()}

    def run(self) -> Outcome:
        """Trains until the end of the schedule or Ctrl-C, and says how many steps were made."""
        settings = self.settings
        step, losses = int(self.begin["step"]), torch.zeros((), device=self.device)
        done = max(self.begin["seconds"] / settings.seconds, step / settings.steps)
        # Batches have one size, so that searching for the fastest convolutions pays.
        with interruptible() as interrupted, torch.backends.cudnn.flags(enabled=True, benchmark=True):
            stream = iter(loader(Rendered(self.task.draw, settings.scenes, settings.seed, step), settings.workers))
            batch = self._move(next(stream))  # before the clock starts: workers take a while to fill their queues
            last_line = last_save = time.monotonic()
            start, line_step = last_line - self.begin["seconds"], step
            while done < 1 and not interrupted.is_set():
                share = warmup_cosine(step, done, warmup=WARMUP_STEPS)
                losses += self._step(batch, self.task.learning_rate * share)
                self.ema.update(step)
                step += 1
                batch = self._move(next(stream))
                now = time.monotonic()
                done = max((now - start) / settings.seconds, step / settings.steps)
                if now - last_line > SECONDS_BETWEEN_LINES or done >= 1:
                    steps, seconds = step - line_step, now - last_line
                    exact = "  ".join(f"{name} {share:.2%}" for name, share in self.exact().items())
                    self.say(
                        f"step {step:>6}  loss {float(losses) / steps:.4f}  exact boxes: {exact}"
                        f"  {BOXES * settings.scenes * steps / seconds:,.0f} boxes/s"
                        f"  {clock((now - start) * max(1 / done - 1, 0))} left"
                    )
                    losses.zero_()
                    last_line, line_step = time.monotonic(), step
                if now - last_save > SECONDS_BETWEEN_SAVES:
                    self._save(step, now - start)
                    last_save = now
        if step:
            self._save(step, time.monotonic() - start)
        if done >= 1:
            self.state_file.unlink(missing_ok=True)
        return Outcome(step, done < 1)

    def _step(self, batch: Sample, learning_rate: float) -> Tensor:
        """Makes one update; returns the loss before it, still on the device."""
        pixels, classes = batch
        self.optimizer.param_groups[0]["lr"] = learning_rate
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            outputs = self.network.train()(pixels)
        loss = self.task.loss(outputs, classes)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.network.parameters(), CLIP_NORM)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    def exact(self) -> dict[str, float]:
        """Returns the share of held-out boxes of which everything is right, by the averaged weights."""
        found = {}
        with self._averaged(), torch.inference_mode():
            for name, (pixels, classes) in self.held_out.items():
                parts = [self.network(some.to(self.device)) for some in torch.split(pixels, HELD_OUT_BATCH)]
                found[name] = float(self.task.exact(torch.cat(parts), classes.to(self.device)).float().mean())
        return found

    def _move(self, batch: Sample) -> Sample:
        pixels, classes = batch
        return pixels.to(self.device, non_blocking=True), classes.to(self.device, non_blocking=True)

    def _save(self, step: int, seconds: float) -> None:
        save_progress(*self.parts, settings=self.same, step=step, seconds=seconds)
        with self._averaged():
            self.task.save(self.out)

    @contextmanager
    def _averaged(self) -> Iterator[None]:
        """Inside, the network has the averaged weights and is in inference mode."""
        with self.ema.applied():
            self.network.eval()
            yield


# ---------------------------------------------------------------- rendered scenes


def distorted_picture(scene: Scene, rng: np.random.Generator) -> Pixels:
    """Returns a picture (100, 400, RGB) as Eyes get it, after a random distortion."""
    return cells.resized(random_distortion(clean_picture(scene, rng), rng))


def clean_picture(scene: Scene, rng: np.random.Generator) -> Pixels:
    """Returns a picture (100, 400, RGB) as Eyes get it, in the corpus's exact pixels."""
    return np.ascontiguousarray(raster.pixels(scene)[..., :3])


def tested_picture(scene: Scene, rng: np.random.Generator) -> Pixels:
    """Returns a picture (100, 400, RGB) as Eyes get it, after one of the robustness table's distortions."""
    return cells.resized(list(DISTORTIONS.values())[rng.integers(len(DISTORTIONS))](clean_picture(scene, rng), rng))


def clean_boxes(scene: Scene, rng: np.random.Generator) -> Pixels:
    """Returns the boxes (3, 100, 100, RGB) as a backbone gets them."""
    return raster.boxes([scene])[0, ..., :3]


@dataclass(frozen=True)
class Rendered(IterableDataset[Sample]):
    """Yields batches of `scenes` new scenes without end; each follows from seed and number, whoever draws it."""

    draw: Draw
    scenes: int
    seed: int
    begin: int = 0  # the number of the first batch

    def __iter__(self) -> Iterator[Sample]:
        worker = get_worker_info()
        first, stride = (0, 1) if worker is None else (worker.id, worker.num_workers)
        for number in itertools.count(self.begin + first, stride):
            yield sample(self.draw, self.scenes, np.random.default_rng((self.seed, number)))


def sample(draw: Draw, count: int, rng: np.random.Generator) -> Sample:
    """Draws `count` random scenes; returns what `draw` makes of each, stacked, and the targets of all their boxes."""
    scenes = random_scenes(rng, count)
    pixels = np.stack([draw(scene, rng) for scene in scenes])
    classes = cells.targets([box for scene in scenes for box in scene.boxes])
    return torch.from_numpy(pixels), torch.from_numpy(classes)


def loader(data: Rendered, workers: int) -> DataLoader[Sample]:
    """Returns batches of `data`, drawn by that many processes or, with 0, by this one."""
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
    """Draws scenes of NLVR's two kinds and crowded ones, in random order."""
    crowded, towers, scattered = rng.multinomial(count, (CROWDED, TOWERS, 1 - CROWDED - TOWERS))
    palette = [np.tile(values, (crowded * BOXES, 1)) for values in (ANY, ANY, CROWDED_SIZES)]
    boxes = scatter(rng, palette, np.full(len(palette[0]), MAX_ITEMS))
    drawn = SceneArrays.concatenated(
        [
            SceneArrays(WORLD, boxes.reshape(len(boxes), crowded, BOXES, MAX_ITEMS)),
            draw_scenes(rng, "tower", towers),
            draw_scenes(rng, "scatter", scattered),
        ]
    )
    return drawn[rng.permutation(count)].scenes()


# ---------------------------------------------------------------- what a cell tells

COUNT_UNIT = 2  # counts are divided by it, so that they vary about as much as the other targets
MAX_COLORED, MAX_SHAPED, MAX_ALIKE = 4, 4, 2  # counts of a colour, of a shape and of both are told up to these
ITEM_TARGETS, BOX_TARGETS = 42, 52
TARGETS = 1 + ITEM_TARGETS + BOX_TARGETS  # presence comes first
SCALE = 8.0  # of E: features of items are then about one
ITEM_WEIGHT = 10.0  # of cells with an item in the loss; there are about five in a hundred
TOLERANCE, POSITION_TOLERANCE = 0.25, 0.05  # half of the smallest step of a count; about four pixels
MATRIX_SEED = 0


class TargetBackbone(nn.Module):
    """Adds to a backbone the loss that makes its features tell each cell's targets: item, neighbourhood, box counts.

    A model that matches words with cells one by one sees only what a cell tells. OBJ-LSTM tells an item of its box's
    other items before words are matched with it; these targets make a feature map do the same.

    A cell's targets t become as many features as the backbone has channels: f = [relu(E t); relu(-E t)], with a fixed
    random matrix E. So f tells t, by E^T (f1 - f2), and nothing else, from which a model with few examples could tell
    boxes apart without understanding them.
    """

    matrix: Tensor

    def __init__(self, backbone: Backbone) -> None:
        super().__init__()
        self.backbone = backbone
        self.register_buffer("matrix", random_matrix(backbone.channels // 2))

    def forward(self, pixels: Tensor) -> Tensor:
        """Computes (n, 3, 100, 100, RGB) uint8 -> feature maps (3 n, channel, GRID, GRID)."""
        maps: Tensor = self.backbone(pixels.flatten(0, 1))
        return maps

    def loss(self, maps: Tensor, classes: Tensor) -> Tensor:
        """Returns the mean squared error relative to what a map of zeros would have. `classes`: cells.targets."""
        targets = cell_targets(classes)
        expected = self.encode(targets)
        weights = torch.where(targets[..., 0] > 0, ITEM_WEIGHT, 1.0)
        errors = (maps.float().flatten(2).transpose(1, 2) - expected).square().sum(dim=-1)
        return (weights * errors).sum() / (weights * expected.square().sum(dim=-1)).sum()

    def exact(self, maps: Tensor, classes: Tensor) -> Tensor:
        """Returns (box,): whether a map tells every target within its tolerance."""
        targets = cell_targets(classes)
        told = self.decode(maps.float().flatten(2).transpose(1, 2))
        tolerances = told.new_full((TARGETS,), TOLERANCE)
        tolerances[1 + CORNER.start : 1 + CORNER.stop] = POSITION_TOLERANCE
        is_right = (told - targets).abs() < tolerances
        # Where no item is, what the map tells about one does not matter.
        is_right[..., 1 : 1 + ITEM_TARGETS] |= targets[..., :1] == 0
        right: Tensor = is_right.flatten(1).all(dim=1)
        return right

    def encode(self, targets: Tensor) -> Tensor:
        """Maps targets to features: (…, TARGETS) -> (…, channel)."""
        projected = targets @ self.matrix.T
        return torch.cat([projected.relu(), (-projected).relu()], dim=-1)

    def decode(self, features: Tensor) -> Tensor:
        """Inverts `encode` if there are at least twice as many channels as targets."""
        positive, negative = features.chunk(2, dim=-1)
        return (positive - negative) @ self.matrix / SCALE**2


def random_matrix(rows: int) -> Tensor:
    """Returns E (rows, TARGETS), with orthogonal columns if there are rows enough; always the same."""
    generator = torch.Generator().manual_seed(MATRIX_SEED)
    orthogonal, _ = torch.linalg.qr(torch.randn(max(rows, TARGETS), TARGETS, generator=generator))
    matrix: Tensor = SCALE * orthogonal[:rows]
    return matrix


def cell_targets(classes: Tensor) -> Tensor:
    """Computes the targets of each cell: cells.targets (box, head, row, column) -> (box, cell, TARGETS).

    A cell's targets are whether the centre of an item lies in it; that item's own features and neighbourhood, zero if
    there is none; and the counts of the box, the same for all its cells.
    """
    flat = classes.long().flatten(2)
    present = flat[:, 0] != cells.ABSENT
    # A box has at most MAX_ITEMS items: pairs of those, not of cells, are compared.
    found = present.long().argsort(dim=1, descending=True, stable=True)[:, :MAX_ITEMS]
    shape, color, size, right, down = flat.clamp(min=0).gather(2, found[:, None].expand(-1, flat.size(1), -1)).unbind(1)
    extent = torch.tensor(list(EXTENTS.values()), device=size.device)[size]
    items = _Items(
        exists=present.gather(1, found),
        left=cells.CELL * (found % cells.GRID) + right - extent // 2,
        upper=cells.CELL * (found // cells.GRID) + down - extent // 2,
        extent=extent,
        shape=one_hot(shape, cells.HEADS[0]).float(),
        color=one_hot(color, cells.HEADS[1]).float(),
        size=one_hot(size, cells.HEADS[2]).float(),
    )
    features = torch.cat([items.own(), items.neighbourhood()], dim=-1) * items.exists[..., None]
    everywhere = features.new_zeros(*present.shape, features.size(-1))
    # Those of `found` that do not exist are empty cells, which get zeros.
    everywhere.scatter_(1, found[..., None].expand_as(features), features)
    counts = items.counts()[:, None].expand(-1, present.size(1), -1)
    return torch.cat([present[..., None].float(), everywhere, counts], dim=-1)


@dataclass(frozen=True)
class _Items:
    """Holds the items of n boxes; pixels count from the box's upper left corner."""

    exists: Tensor  # (n, item), bool
    left: Tensor  # (n, item)
    upper: Tensor  # (n, item)
    extent: Tensor  # (n, item)
    shape: Tensor  # (n, item, 3), one-hot
    color: Tensor  # (n, item, 3), one-hot
    size: Tensor  # (n, item, 3), one-hot

    @property
    def right(self) -> Tensor:
        return self.left + self.extent

    @property
    def lower(self) -> Tensor:
        return self.upper + self.extent

    def own(self) -> Tensor:
        """Returns the nine features that models of items read, with positions from wall to wall ("contact")."""
        size = (self.extent - Size.MEDIUM.extent) / (Size.LARGE.extent - Size.MEDIUM.extent)
        numbers = [2 * self.left / BOX_EXTENT - 1, 2 * self.upper / BOX_EXTENT - 1, size]
        features = torch.cat([torch.stack(numbers, dim=-1), self.shape, self.color], dim=-1)
        return encode_positions(features, "contact", WORLD)

    def walls(self) -> Tensor:
        """Returns (n, item, 4): whether the item touches the left, upper, right and lower wall."""
        at_left, at_top = self.left == 0, self.upper == 0
        touched = torch.stack([at_left, at_top, self.right == BOX_EXTENT, self.lower == BOX_EXTENT], dim=-1)
        return (touched & self.exists[..., None]).float()

    def neighbourhood(self) -> Tensor:
        """Returns (n, item, …): walls; colours of what is above, below, left, right and closely touching above and
        below; colours and shapes of all that is closely touching; whether it is the highest and the lowest item; and
        how many others have its colour, shape and size."""
        left, upper, right, lower = self.left, self.upper, self.right, self.lower
        # [i, j]: how far j begins beyond i's edge, in each direction; negative if it does not lie beyond.
        above, below = upper[:, :, None] - lower[:, None], upper[:, None] - lower[:, :, None]
        before, after = left[:, :, None] - right[:, None], left[:, None] - right[:, :, None]
        others = self.exists[:, None] & ~torch.eye(MAX_ITEMS, dtype=torch.bool, device=above.device)
        touching = torch.stack([above, below, before, after]).amax(dim=0) <= CLOSE
        directions = [above >= 0, below >= 0, before >= 0, after >= 0]

        def count(related: Tensor, kinds: Tensor) -> Tensor:
            return (related & others).float() @ kinds / COUNT_UNIT

        highest = torch.where(self.exists, upper, BOX_EXTENT).amin(dim=1, keepdim=True)
        lowest = torch.where(self.exists, upper, 0).amax(dim=1, keepdim=True)
        alike = [
            (others.float() * (kinds @ kinds.transpose(1, 2))).sum(-1) / COUNT_UNIT
            for kinds in (self.color, self.shape, self.size)
        ]
        return torch.cat(
            [
                self.walls(),
                *(count(direction, self.color) for direction in directions),
                *(count(direction & touching, self.color) for direction in directions[:2]),
                count(touching, self.color),
                count(touching, self.shape),
                torch.stack([(upper == highest).float(), (upper == lowest).float(), *alike], dim=-1),
            ],
            dim=-1,
        )

    def counts(self) -> Tensor:
        """Returns (n, BOX_TARGETS): whether the box has at least one, two, … items of each colour, of each shape, of
        each colour and shape, of any kind; and how many of each colour touch a wall."""
        exists = self.exists[..., None].float()
        both = (self.color[..., :, None] * self.shape[..., None, :]).flatten(2)
        walled = self.walls().amax(dim=-1, keepdim=True) * self.color

        def thermometer(kinds: Tensor, most: int) -> Tensor:
            counts = (kinds * exists).sum(dim=1)
            return (counts[..., None] >= torch.arange(1, most + 1, device=counts.device)).float().flatten(1)

        return torch.cat(
            [
                thermometer(self.color, MAX_COLORED),
                thermometer(self.shape, MAX_SHAPED),
                thermometer(both, MAX_ALIKE),
                thermometer(exists, MAX_ITEMS)[:, 1:],
                (walled * exists).sum(dim=1) / COUNT_UNIT,
            ],
            dim=-1,
        )
