"""Every backbone turns pixels into 10 x 10 maps, each sub-image by itself, in any precision and in a CUDA graph."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tiny import DEPTHS, TINY, WIDTH, random_pixels, tiny
from torch import nn
from torch.testing import assert_close

from veriscene.errors import InputError
from veriscene.models.vision.backbone import (
    BACKBONES,
    GRID,
    LEFT_OUT,
    SAME_WEIGHTS,
    ResNetV1,
    ResNetV2,
    load_weights,
    save_weights,
    weights_path,
)

MILLIONS = {"convolutions": 0.5, "resnet50-imagenet": 23.5, "resnet50-rendered": 23.5, "resnetv2-101-imagenet": 42.5}
MILLIONS |= {"resnetv2-101-slim": 42.5, "resnetv2-101-keras": 42.5, "resnet50-imagenet-stage4": 8.6}
CHANNELS = {"convolutions": 128, "resnet50-imagenet-stage4": 1024}


@pytest.mark.parametrize("name", BACKBONES)
def test_registered_backbones_have_the_documented_map_and_size(name: str) -> None:
    with torch.device("meta"):  # shapes without the work
        backbone = BACKBONES[name]()
        maps = backbone(torch.empty(2, 100, 100, 3, dtype=torch.uint8))
    assert maps.shape == (2, backbone.channels, GRID, GRID) and maps.dtype is torch.float32
    known = name if name in MILLIONS else SAME_WEIGHTS[name]
    assert backbone.channels == CHANNELS.get(name, 2048)
    assert round(sum(weight.numel() for weight in backbone.parameters()) / 1e6, 1) == MILLIONS[known]


@pytest.mark.parametrize(("name", "other"), SAME_WEIGHTS.items())
def test_variants_of_a_backbone_read_the_same_weights(name: str, other: str) -> None:
    assert weights_path(name) == weights_path(other)
    with torch.device("meta"):
        shapes = [{key: t.shape for key, t in BACKBONES[each]().state_dict().items()} for each in (name, other)]
    left_out = {key for key in shapes[1] if key.startswith(LEFT_OUT.get(name, "none"))}
    assert shapes[0] == {key: shapes[1][key] for key in shapes[1].keys() - left_out}


def test_the_map_of_stage_4_is_what_the_last_stage_of_the_whole_network_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At stride 16 the whole network has the same picture, and halves the map no more than the shortened one."""
    whole = tiny("resnet_v1, stride 16")
    shortened = ResNetV1(size=160, stride=16, depths=DEPTHS[:3], width=WIDTH).eval()
    monkeypatch.setenv("VERISCENE_CACHE", str(tmp_path))
    save_weights(whole, weights_path("resnet50-imagenet"), metadata={})
    load_weights(whole, "resnet50-imagenet-16")  # in half precision
    load_weights(shortened, "resnet50-imagenet-stage4")
    with pytest.raises(InputError):
        load_weights(shortened, "resnet50-imagenet-16")
    read = list[torch.Tensor]()
    assert isinstance(whole, ResNetV1)
    whole.stages[3].register_forward_pre_hook(lambda _, inputs: read.extend(inputs))
    with torch.inference_mode():
        whole(random_pixels(3))
        assert_close(shortened(random_pixels(3)), read[0])


@pytest.mark.parametrize("name", TINY)
def test_a_map_depends_on_its_own_sub_image_only(name: str) -> None:
    backbone, pixels = tiny(name), random_pixels(3)
    with torch.inference_mode():
        together, alone = backbone(pixels), [backbone(pixels[i : i + 1]) for i in range(3)]
    assert_close(together, torch.cat(alone), atol=1e-3, rtol=0)
    assert (together[0] - together[1]).abs().max() > 0.1


@pytest.mark.parametrize("name", TINY)
def test_activations_stay_in_channels_last(name: str) -> None:
    backbone, formats = tiny(name), []

    def record(module: nn.Module, inputs: tuple[torch.Tensor], output: torch.Tensor) -> None:
        formats.extend(t.is_contiguous(memory_format=torch.channels_last) for t in (module.weight, inputs[0], output))

    for module in backbone.modules():
        if isinstance(module, nn.Conv2d):
            module.register_forward_hook(record)
    with torch.inference_mode():
        backbone(random_pixels(2))
    assert formats and all(formats)


@pytest.mark.parametrize("name", TINY)
def test_only_training_mode_changes_the_statistics_of_batch_norm(name: str) -> None:
    backbone = tiny(name)
    before = {key: value.clone() for key, value in backbone.state_dict().items()}

    def changed() -> set[str]:
        backbone(random_pixels(2))
        return {key for key, value in backbone.state_dict().items() if not torch.equal(value, before[key])}

    assert changed() == set()
    backbone.train()
    assert changed() == {key for key in before if key.endswith(("running_mean", "running_var", "num_batches_tracked"))}


@pytest.mark.parametrize("name", TINY)
def test_maps_in_bf16_are_close(name: str) -> None:
    backbone, pixels = tiny(name), random_pixels(2)
    with torch.inference_mode():
        exact = backbone(pixels)
        with torch.autocast("cpu", torch.bfloat16):
            rounded = backbone(pixels).float()
    assert (rounded - exact).norm() / exact.norm() < 0.05


def test_dilation_in_place_of_stride_refines_the_same_map() -> None:
    coarse, fine = tiny("resnet_v1, stride 32"), tiny("resnet_v1, stride 16")
    assert isinstance(coarse, ResNetV1) and isinstance(fine, ResNetV1)
    fine.load_state_dict(coarse.state_dict())
    images = coarse.prepare(random_pixels(2))
    with torch.inference_mode():
        maps, finer = coarse.encode(images), fine.encode(images)
    assert finer.shape[2:] == (2 * GRID, 2 * GRID)
    assert_close(finer[..., ::2, ::2], maps)


def test_preprocessing_is_that_of_the_pretrained_networks() -> None:
    orange = torch.tensor([255, 128, 0], dtype=torch.uint8).expand(1, 100, 100, 3)
    keras = ResNetV1(size=320, stride=32, depths=DEPTHS, width=WIDTH).prepare(orange)
    timm = ResNetV2(size=320, depths=DEPTHS, width=WIDTH).prepare(orange)
    for images, color in ((keras, [0 - 103.939, 128 - 116.779, 255 - 123.68]), (timm, [1.0, 128 / 127.5 - 1, -1.0])):
        assert_close(images, torch.tensor(color).view(1, 3, 1, 1).expand(1, 3, 320, 320))


def test_sizes_that_do_not_give_the_grid_are_refused() -> None:
    with pytest.raises(ValueError, match="10 x 10"):
        ResNetV1(size=224, stride=32)
    with pytest.raises(ValueError, match="16 or 32"):
        ResNetV1(size=80, stride=8)


@pytest.mark.gpu
@pytest.mark.parametrize("name", TINY)
def test_a_backbone_can_be_captured_in_a_cuda_graph(name: str) -> None:
    backbone, pixels = tiny(name).cuda(), random_pixels(4).cuda()

    def compute() -> torch.Tensor:
        with torch.inference_mode(), torch.autocast("cuda", torch.bfloat16):
            return backbone(pixels)

    with torch.cuda.stream(torch.cuda.Stream()):
        compute()  # libraries set themselves up
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        maps = compute()
    pixels.copy_(random_pixels(4, seed=2))
    graph.replay()
    assert_close(maps, compute())
