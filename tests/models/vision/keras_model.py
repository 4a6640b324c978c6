"""Keras models as packaged for TensorFlow.js: a small ResNet in that format, and such graphs executed by torch."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

SHARD = 1000  # bytes; not a multiple of four, so tensors and numbers are cut


class KerasResNet:
    """A ResNet of `depths` blocks as Keras's `ResNet50` is made: topology, and random weights by name."""

    def __init__(self, *, depths: Sequence[int], width: int, classes: int = 5) -> None:
        self.layers: list[dict[str, Any]] = []
        self.weights: dict[str, np.ndarray] = {}
        self.random = np.random.default_rng(1)
        top = self.layer(
            "ZeroPadding2D", "conv1_pad", [self.layer("InputLayer", "input_1", [])], padding=[[3, 3], [3, 3]]
        )
        top = self.convolution("conv1", "bn_conv1", top, 3, width, kernel=7, stride=2)
        top = self.layer("ZeroPadding2D", "pool1_pad", [self.relu(top)], padding=[[1, 1], [1, 1]])
        top = self.layer("MaxPooling2D", "max_pooling2d", [top], pool_size=[3, 3], strides=[2, 2], padding="valid")
        channels = width
        for stage, depth in enumerate(depths):
            for block in range(depth):
                inner, outer, stride = width << stage, (width << stage) * 4, 2 if stage > 0 and block == 0 else 1
                name, shortcut = f"{stage + 2}{'abcdef'[block]}_branch", top
                top = self.convolution(f"res{name}2a", f"bn{name}2a", top, channels, inner, kernel=1, stride=stride)
                top = self.convolution(f"res{name}2b", f"bn{name}2b", self.relu(top), inner, inner, kernel=3)
                top = self.convolution(f"res{name}2c", f"bn{name}2c", self.relu(top), inner, outer, kernel=1)
                if block == 0:
                    names = (f"res{name}1", f"bn{name}1")
                    shortcut = self.convolution(*names, shortcut, channels, outer, kernel=1, stride=stride)
                top, channels = self.relu(self.layer("Add", f"add_{name}", [top, shortcut])), outer
        self.weights["fc1000/kernel"] = self.normal(channels, classes)
        self.weights["fc1000/bias"] = self.normal(classes)

    def layer(self, kind: str, name: str, inputs: list[str], **config: object) -> str:
        nodes = [[[source, 0, 0, {}] for source in inputs]] if inputs else []
        self.layers.append({"name": name, "class_name": kind, "config": config, "inbound_nodes": nodes})
        return name

    def relu(self, source: str) -> str:
        return self.layer("Activation", f"activation_{len(self.layers)}", [source], activation="relu")

    def convolution(
        self, name: str, norm: str, source: str, inputs: int, outputs: int, *, kernel: int, stride: int = 1
    ) -> str:
        padding = "same" if kernel == 3 else "valid"
        top = self.layer("Conv2D", name, [source], strides=[stride, stride], padding=padding)
        self.weights[f"{name}/kernel"] = self.normal(kernel, kernel, inputs, outputs) / np.float32(kernel * inputs**0.5)
        self.weights[f"{name}/bias"] = self.normal(outputs)
        for part in ("gamma", "beta", "moving_mean"):
            self.weights[f"{norm}/{part}"] = self.normal(outputs)
        self.weights[f"{norm}/moving_variance"] = self.normal(outputs) ** 2 / 100  # small: the epsilon matters
        return self.layer("BatchNormalization", norm, [top], epsilon=1e-3)

    def normal(self, *shape: int) -> np.ndarray:
        return self.random.normal(size=shape).astype("<f4")

    def write(self, path: Path, **changes: bytes | None) -> Path:
        """Writes the package; `changes` replace its files, or leave them out."""
        content = b"".join(array.tobytes() for array in self.weights.values())
        shards = [content[start : start + SHARD] for start in range(0, len(content), SHARD)]
        names = [f"group1-shard{number}of{len(shards)}.bin" for number in range(1, len(shards) + 1)]
        weights = [{"name": name, "shape": array.shape, "dtype": "float32"} for name, array in self.weights.items()]
        topology = {"model_config": {"config": {"layers": self.layers}}}
        model = {"modelTopology": topology, "weightsManifest": [{"paths": names, "weights": weights}]}
        members: dict[str, bytes | None] = {
            "package.json": b"{}",
            **{f"ResNet50/{name}": shard for name, shard in zip(names, shards, strict=True)},
            "ResNet50/model.json": json.dumps(model).encode(),
            **changes,
        }
        with tarfile.open(path, "w:gz") as package:
            for name, content in members.items():
                if content is not None:
                    member = tarfile.TarInfo(f"package/{name}")
                    member.size = len(content)
                    package.addfile(member, io.BytesIO(content))
        return path


def last_map(layers: list[dict[str, Any]], weights: dict[str, Tensor], images: Tensor) -> Tensor:
    """What the last ReLU of a Keras graph gives for (n, channels, height, width), layer by layer as model.json says."""
    results: dict[str, Tensor] = {}
    top = images
    for layer in layers:
        kind, name, config = layer["class_name"], layer["name"], layer["config"]
        inputs = [results[node[0]] for node in layer["inbound_nodes"][0]] if layer["inbound_nodes"] else [images]
        own = {key.split("/")[1]: tensor for key, tensor in weights.items() if key.split("/")[0] == name}
        if kind == "ZeroPadding2D":
            (above, below), (left, right) = config["padding"]
            results[name] = functional.pad(inputs[0], (left, right, above, below))
        elif kind == "Conv2D":
            kernel, stride = own["kernel"].permute(3, 2, 0, 1), config["strides"][0]
            padding = "same" if config["padding"] == "same" else 0
            results[name] = functional.conv2d(inputs[0], kernel, own["bias"], stride=stride, padding=padding)
        elif kind == "BatchNormalization":
            gain = own["gamma"] / (own["moving_variance"] + config["epsilon"]).sqrt()
            centred = inputs[0] - own["moving_mean"].view(-1, 1, 1)
            results[name] = centred * gain.view(-1, 1, 1) + own["beta"].view(-1, 1, 1)
        elif kind == "MaxPooling2D":
            assert config["padding"] == "valid"
            results[name] = functional.max_pool2d(inputs[0], config["pool_size"], config["strides"])
        elif kind == "Add":
            results[name] = inputs[0] + inputs[1]
        elif kind == "Activation":
            top = results[name] = torch.relu(inputs[0])
        elif kind == "InputLayer":
            results[name] = images
        else:
            assert kind in ("GlobalAveragePooling2D", "Dense")  # the classifier
            results[name] = inputs[0]
    return top
