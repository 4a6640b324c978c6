"""Features of a corpus: each distinct sub-image once, the same from the cache, which no failure can spoil."""

from __future__ import annotations

import multiprocessing
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tiny import random_pixels, tiny
from torch import Tensor, nn
from torch.testing import assert_close

from veriscene.errors import InputError
from veriscene.models.vision import feature_maps as maps_file
from veriscene.models.vision.backbone import GRID, Backbone
from veriscene.models.vision.feature_maps import extract


class Brightness(Backbone):
    """The mean brightness of each cell times a weight; counts the sub-images it has seen."""

    channels = 1

    def __init__(self, weight: float = 1.0) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(weight))
        self.seen = 0

    def forward(self, pixels: Tensor) -> Tensor:
        self.seen += len(pixels)
        cells = pixels.float().unflatten(1, (GRID, -1)).unflatten(3, (GRID, -1))
        return self.weight * cells.mean(dim=(2, 4, 5))[:, None]


def corpus(examples: int = 4) -> Tensor:
    """(examples, 3, 100, 100, 3); the second box always looks the same."""
    pixels = random_pixels(examples * 3).unflatten(0, (examples, 3)).clone()
    pixels[:, 1] = pixels[0, 1].clone()
    return pixels


def run(
    backbone: Backbone, pixels: Tensor, cache: Path | None, say: Callable[[str], None] = lambda line: None
) -> Tensor:
    return extract(backbone, pixels, progress=lambda done, total: None, cache=cache, say=say)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maps_file, "CHUNK", 4)  # 9 distinct sub-images: three chunks, the last one not full


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)], ids=["cpu", "cuda"])
def test_features_are_the_maps_of_the_backbone_in_place(device: str, tmp_path: Path) -> None:
    backbone, pixels = tiny("resnet_v1, stride 16").to(device), corpus().to(device)
    with torch.no_grad():
        expected = backbone(pixels.flatten(0, 1)).unflatten(0, (4, 3))
    for cache in (None, tmp_path, tmp_path):
        features = run(backbone.train(), pixels, cache)
        assert backbone.training and features.dtype is torch.half and features.device == pixels.device
        tolerance = 1e-3 if device == "cpu" else 5e-2  # bf16 on a GPU
        assert (features - expected).norm() / expected.norm() < tolerance
        assert not features.is_inference()  # so that gradients of what reads them can be taken


def test_each_distinct_sub_image_is_computed_once_and_then_read(tmp_path: Path) -> None:
    backbone, pixels, lines, steps = Brightness(), corpus(), [], []
    first = extract(
        backbone, pixels, progress=lambda *step: steps.append(step), cache=tmp_path / "new", say=lines.append
    )
    assert backbone.seen == 9 and steps[-1] == (9, 9)
    assert lines == [f"features: 9 maps, 0.0 GB in {tmp_path / 'new'}"]
    assert torch.equal(run(backbone, pixels, tmp_path / "new"), first)
    order = torch.tensor([2, 0, 3, 1])  # the same sub-images in another order need no other file
    assert torch.equal(run(backbone, pixels[order], tmp_path / "new"), first[order])
    assert backbone.seen == 9 and len(list((tmp_path / "new").iterdir())) == 1


def test_other_weights_and_other_pixels_are_not_confused(tmp_path: Path) -> None:
    pixels = corpus()
    other = pixels.clone()
    other[0, 0, 0, 0, 0] ^= 1
    for backbone, data in ((Brightness(), pixels), (Brightness(2.0), pixels), (Brightness(), other)):
        assert torch.equal(run(backbone, data, tmp_path), run(backbone, data, None))
    assert len(list(tmp_path.iterdir())) == 3
    # Size and stride count too: with the same weights these give maps of the same shape.
    coarse, fine = tiny("resnet_v1, stride 32"), tiny("resnet_v1, stride 16")
    fine.load_state_dict(coarse.state_dict())
    assert not torch.equal(run(coarse, pixels, tmp_path), run(fine, pixels, tmp_path))


def test_damaged_files_are_computed_again(tmp_path: Path) -> None:
    backbone, pixels = Brightness(), corpus()
    expected = run(backbone, pixels, tmp_path)
    (path,) = tmp_path.iterdir()
    good = path.read_bytes()
    flipped = [good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :] for at in (0, len(good) // 2, len(good) - 1)]
    for damaged in (b"", good[:-1], good + b"\0", *flipped):
        path.write_bytes(damaged)
        backbone.seen = 0
        assert torch.equal(run(backbone, pixels, tmp_path), expected)
        assert backbone.seen == 9 and path.read_bytes() == good


def test_a_disk_or_memory_that_is_too_small_is_one_line_before_anything_is_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backbone, lines = Brightness(), []
    usage = shutil._ntuple_diskusage(10**6, 10**6, 100)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(InputError, match="VERISCENE_CACHE") as caught:
        run(backbone, corpus(), tmp_path, lines.append)
    assert caught.value.where == tmp_path
    assert lines == [f"features: 9 maps, 0.0 GB in {tmp_path}"]
    backbone.channels = 10**12
    with pytest.raises(InputError, match=r"GB .* cpu"):
        run(backbone, corpus(), tmp_path)
    assert backbone.seen == 0 and list(tmp_path.iterdir()) == []


def test_a_failure_leaves_nothing_behind_and_the_leftovers_of_a_killed_process_go(tmp_path: Path) -> None:
    (tmp_path / "abc.maps.123.partial").write_bytes(bytes(100))
    with pytest.raises(InputError, match="NaN"):
        run(Brightness(torch.nan), corpus(), tmp_path)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError) as caught:
        run(Brightness(), corpus(), tmp_path / "file" / "features")
    assert caught.value.where == tmp_path / "file" / "features"


def test_values_too_large_for_half_precision_are_clamped_and_reported() -> None:
    lines = []
    pixels = torch.full((1, 1, 100, 100, 3), 100, dtype=torch.uint8)
    features = run(Brightness(1e3), pixels, None, lines.append)
    assert_close(features, torch.full_like(features, 65504.0))
    assert lines == ["features: clamped 100 values beyond ±65,504"]


class Slow(Brightness):
    def forward(self, pixels: Tensor) -> Tensor:
        time.sleep(0.1)
        return super().forward(pixels)


def compute(folder: Path, results) -> None:
    torch.set_num_threads(1)
    backbone = Slow()
    features = run(backbone, corpus(), folder)
    results.put((backbone.seen, features.sum(dtype=torch.float64).item()))


def test_of_two_processes_one_computes_and_both_have_the_features(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    processes = [context.Process(target=compute, args=(tmp_path, results)) for _ in range(2)]
    for process in processes:
        process.start()
    seen, sums = zip(*(results.get(timeout=60) for _ in processes), strict=True)
    for process in processes:
        process.join()
    assert sorted(seen) == [0, 9] and sums[0] == sums[1]
    assert len(list(tmp_path.iterdir())) == 1
