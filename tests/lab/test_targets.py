"""What a cell of the rendered backbone tells, against the geometry of items and boxes."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import torch

from veriscene.data import eyes as cells
from veriscene.lab.pretrain import ITEM_TARGETS, TARGETS, TargetBackbone, cell_targets, random_scenes
from veriscene.models.layers.geometry import encode_positions
from veriscene.models.vision.backbone import ResNetV1
from veriscene.world.scene import Box, Item, Side
from veriscene.worlds.nlvr.looks import WORLD, Color, Shape


def expected_of_item(item: Item, box: Box) -> list[float]:
    others = [other for other in box.items if other is not item]

    def colors(some: Iterable[Item]) -> list[float]:
        found = [other["color"] for other in some]
        return [found.count(color) / 2 for color in Color]

    above = [other for other in others if other.lower <= item.y]
    below = [other for other in others if other.y >= item.lower]
    near = [other for other in others if other.distance(item) <= 4]
    same: list[Callable[[Item], object]] = [lambda i: i["color"], lambda i: i["shape"], lambda i: i["size"]]
    return [
        *encode_positions(torch.tensor(WORLD.features(item)), "contact", WORLD).tolist(),
        *(float(side in WORLD.walls_of(item)) for side in (Side.LEFT, Side.TOP, Side.RIGHT, Side.BOTTOM)),
        *colors(above),
        *colors(below),
        *colors(other for other in others if other.right <= item.x),
        *colors(other for other in others if other.x >= item.right),
        *colors(other for other in above if other in near),
        *colors(other for other in below if other in near),
        *colors(near),
        *([other["shape"] for other in near].count(shape) / 2 for shape in Shape),
        float(item.y == min(each.y for each in box.items)),
        float(item.y == max(each.y for each in box.items)),
        *(sum(key(other) == key(item) for other in others) / 2 for key in same),
    ]


def expected_of_box(box: Box) -> list[float]:
    def at_least(count: int, most: int, least: int = 1) -> list[float]:
        return [float(count >= number) for number in range(least, most + 1)]

    colors, shapes = [item["color"] for item in box.items], [item["shape"] for item in box.items]
    kinds = list(zip(colors, shapes, strict=True))
    walled = [item["color"] for item in box.items if WORLD.walls_of(item)]
    return [
        *(value for color in Color for value in at_least(colors.count(color), 4)),
        *(value for shape in Shape for value in at_least(shapes.count(shape), 4)),
        *(value for color in Color for shape in Shape for value in at_least(kinds.count((color, shape)), 2)),
        *at_least(len(box.items), 8, least=2),
        *(walled.count(color) / 2 for color in Color),
    ]


def test_cells_tell_the_item_in_them_its_surroundings_and_the_counts_of_the_box() -> None:
    boxes = [box for scene in random_scenes(np.random.default_rng(1), 60) for box in scene.boxes]
    told = cell_targets(torch.from_numpy(cells.targets(boxes)))
    assert told.shape == (len(boxes), 100, TARGETS)
    for number, box in enumerate(boxes):
        expected = torch.zeros(100, 1 + ITEM_TARGETS)
        for item in box.items:
            row, column = (item.y + item.width // 2) // 10, (item.x + item.width // 2) // 10
            expected[10 * row + column] = torch.tensor([1.0, *expected_of_item(item, box)])
        assert torch.allclose(told[number, :, : 1 + ITEM_TARGETS], expected, atol=1e-5)
        assert told[number, :, 1 + ITEM_TARGETS :].tolist() == [expected_of_box(box)] * 100


def test_an_item_alone_has_no_neighbours_but_walls() -> None:
    lone = Box(random_scenes(np.random.default_rng(3), 1)[0].boxes[0].items[:1])
    (told,) = cell_targets(torch.from_numpy(cells.targets([lone])))
    (item,) = told[told[:, 0] == 1]
    torch.testing.assert_close(item[1 : 1 + ITEM_TARGETS], torch.tensor(expected_of_item(lone.items[0], lone)))


def test_a_map_that_holds_the_targets_is_exact_and_has_no_loss() -> None:
    boxes = [box for scene in random_scenes(np.random.default_rng(2), 10) for box in scene.boxes]
    classes = torch.from_numpy(cells.targets(boxes))
    network = TargetBackbone(ResNetV1(size=160, stride=16, depths=(1, 1, 1, 1), width=16))
    targets = cell_targets(classes)
    features = network.encode(targets)
    assert features.shape == (len(boxes), 100, network.backbone.channels) and features.min() >= 0
    torch.testing.assert_close(network.decode(features), targets, atol=1e-4, rtol=1e-4)
    maps = features.transpose(1, 2).unflatten(2, (10, 10))
    assert network.loss(maps, classes) < 1e-9 and network.exact(maps, classes).all()
    assert network.loss(torch.zeros_like(maps), classes) == 1
    noise = torch.zeros_like(maps)
    noise[0, :, 0, 0] = 3 * torch.randn(maps.size(1), generator=torch.Generator().manual_seed(0))
    assert network.exact(maps + noise, classes).tolist() == [False] + [True] * (len(boxes) - 1)
