from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from samples import fresh_checkpoint, write_corpus, yellow_circle_examples
from veriscene.judge import checkpoint as checkpoints
from veriscene.world.examples import write, write_predictions
from veriscene.worlds.nlvr.looks import WORLD
from veriscene.worlds.nlvr.pictures import to_png
from veriscene.worlds.nlvr.raster import pixels


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small corpus, checkpoints, a scene, predictions, and damaged files. Tests leave it as it is."""
    folder = tmp_path_factory.mktemp("place")
    examples = yellow_circle_examples(10)
    write_corpus(folder / "corpus", examples, examples)
    for name, model in (("model", "biatt-pointer"), ("pairs", "relation-net")):
        checkpoints.save(folder / name, fresh_checkpoint(model, examples))
    (folder / "scene.json").write_text(json.dumps(WORLD.to_json_scene(examples[0].scene)))
    (folder / "broken.json").write_text((folder / "corpus/dev/dev.json").read_text() + '{"sentence": "The')
    unlabelled = [replace(example, label=None) for example in examples]
    write(folder / "unlabelled.json", unlabelled, WORLD)
    write_predictions(folder / "good.csv", {example.identifier: True for example in examples})
    (folder / "short.csv").write_text("0-0,true\n")
    (folder / "long.csv").write_text((folder / "good.csv").read_text() + "99-0,true\n")
    worded = [examples[0], replace(examples[1], statement="circle " * 257)]
    write(folder / "long.json", worded, WORLD)
    write_corpus(folder / "long", worded, examples)
    write_corpus(folder / "half", [examples[0], *unlabelled[1:]], examples)
    (folder / "shifted.png").write_bytes(to_png(np.roll(pixels(examples[0].scene), 1, axis=0)))
    Image.new("1", (11_000, 11_000)).save(folder / "bomb.png")  # so many pixels that Pillow warns
    return folder
