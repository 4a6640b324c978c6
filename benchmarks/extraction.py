"""How long a frozen backbone takes for the feature maps of a whole corpus.

    python benchmarks/extraction.py ../shared/nlvr --backbone resnet50-imagenet

Scenes are rendered first, which is timed by itself. Then the maps of every split are computed as for training: each
distinct sub-image once, on a GPU if there is one. The cache on disk is not used.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import torch

from veriscene import worlds
from veriscene.models.vision.backbone import BACKBONES, load_weights
from veriscene.models.vision.feature_maps import Distinct, extract
from veriscene.output import silent
from veriscene.world.corpus import split_file
from veriscene.worlds.nlvr import raster

SPLITS = ("train", "dev", "test")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("corpus", type=Path, help="folder with the splits train, dev and test")
    parser.add_argument("--backbone", default="resnet50-imagenet", choices=sorted(BACKBONES))
    options = parser.parse_args(arguments)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    scenes = {split: [e.scene for e in worlds.read(split_file(options.corpus, split))] for split in SPLITS}
    start = time.perf_counter()
    pixels = {split: torch.from_numpy(raster.boxes(own)[..., :3].copy()) for split, own in scenes.items()}
    rendered = time.perf_counter() - start
    backbone = BACKBONES[options.backbone]()
    if options.backbone != "convolutions":
        load_weights(backbone, options.backbone)
    backbone.to(device)
    images = sum(own.shape[0] * own.shape[1] for own in pixels.values())
    distinct = sum(len(Distinct.among(own.flatten(0, 1)).first) for own in pixels.values())
    start = time.perf_counter()
    for own in pixels.values():
        extract(backbone, own.to(device), progress=silent, cache=None, say=print)
    if device.type == "cuda":
        torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    print(f"{options.backbone} on {torch.cuda.get_device_name() if device.type == 'cuda' else 'CPU'}")
    print(f"rendering: {rendered:.1f} s; features: {seconds:.1f} s for {images:,} sub-images, {distinct:,} distinct")


if __name__ == "__main__":
    main(sys.argv[1:])
