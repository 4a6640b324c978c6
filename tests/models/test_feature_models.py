"""What holds of every model that judges the scene as a whole, from features: MaxEnt, MLP, ImageFeat+RNN."""

from __future__ import annotations

import io
import random
from dataclasses import replace

import pytest
import torch
from padding import with_random_padding
from torch.testing import assert_close

from samples import random_scene, small_config, vocabulary_of, yellow_circle_examples
from veriscene import models, worlds
from veriscene.data.encoder import Encoder, ItemOrder
from veriscene.models import Model
from veriscene.models.baselines import image_features
from veriscene.world.examples import Example
from veriscene.world.scene import Box, Scene, Side
from veriscene.worlds.nlvr.looks import MAX_ITEMS, WORLD, Color, Shape, Size

EXAMPLES = yellow_circle_examples(40)
VOCABULARY = vocabulary_of(EXAMPLES)
ENCODE = Encoder(VOCABULARY, WORLD, order=ItemOrder.FILE)
CORPUS = ENCODE(EXAMPLES)
CLOSE = {"atol": 1e-4, "rtol": 1e-4}


def fresh(name: str, **changes: int) -> Model:
    torch.manual_seed(0)
    return models.build(small_config(name, **changes), vocabulary=VOCABULARY, world=WORLD)


@pytest.fixture(scope="module", params=["maxent", "mlp", "imagefeat-rnn"])
def trained(request) -> tuple[str, Model]:
    """With weights that matter, in inference."""
    model = fresh(request.param)
    model.prepare(CORPUS)
    if model.is_fitted:
        pytest.importorskip("sklearn")
        model.fit(CORPUS)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape))
    return request.param, model.eval()


def test_batched_equals_single(trained):
    _, model = trained
    together = model(with_random_padding(CORPUS, more_words=3, more_items=1)).logits
    assert together.unique().numel() > 10
    single = torch.cat([model(ENCODE([example])).logits for example in EXAMPLES])
    assert_close(together, single, **CLOSE)


def test_only_the_flat_vector_depends_on_the_order_of_boxes_and_items(trained):
    name, model = trained
    boxes_turned = [replace(e, scene=Scene((*e.scene.boxes[1:], e.scene.boxes[0]))) for e in EXAMPLES]
    items_turned = [replace(e, scene=Scene(tuple(Box(b.items[::-1]) for b in e.scene.boxes))) for e in EXAMPLES]
    before = model(CORPUS).logits
    for turned in (boxes_turned, items_turned):
        after = model(ENCODE(turned)).logits
        if name == "imagefeat-rnn":
            assert ((before - after).abs() > 1e-4).any()
        else:
            assert_close(before, after, **CLOSE)


def test_a_fresh_model_loads_a_saved_state_whatever_the_corpus(trained):
    name, model = trained
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    other = fresh(name).eval()
    other.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(other(CORPUS).logits, model(CORPUS).logits)


def test_a_state_with_another_width_is_refused():
    with pytest.raises(RuntimeError, match=r"\bvectors\b"):
        fresh("mlp").load_state_dict(fresh("mlp", embedding=7).state_dict())


@pytest.mark.parametrize("name", ["mlp", "imagefeat-rnn"])
def test_a_training_step_does_not_synchronise_with_the_device(name):
    """Tensors on the meta device have no values, so that reading one fails. A CUDA graph needs the same."""
    model = fresh(name)
    model.prepare(CORPUS)
    model.to("meta").train()
    model(CORPUS.to("meta")).logits.sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


# ---------------------------------------------------------------- the flat vector of ImageFeat+RNN


def reference(scene: Scene) -> list[float]:
    numbers: list[bool] = []
    for box in scene.boxes:
        slots = [*box.items, *[None] * (MAX_ITEMS - len(box.items))]
        for item in slots:
            numbers.append(item is not None)
            numbers += [item is not None and item["color"] == color for color in Color]
            numbers += [item is not None and item["shape"] == shape for shape in Shape]
            numbers += [item is not None and item["size"] == size for size in Size]
            numbers += [item is not None and side in WORLD.walls_of(item) for side in Side]
            for other in slots:
                both = item is not None and other is not None
                numbers += [
                    both and item.x < other.x,
                    both and item.x > other.x,
                    both and item.y < other.y,
                    both and item.y > other.y,
                ]
    return [float(number) for number in numbers]


def examples_of(scenes: list[Scene]) -> list[Example]:
    return [Example(f"{number}-0", "so it is", scene) for number, scene in enumerate(scenes)]


@pytest.mark.parametrize("most", [1, 3, MAX_ITEMS])
def test_the_vector_is_that_of_the_reference(most):
    rng = random.Random(most)
    scenes = [random_scene(rng, most) for _ in range(30)]
    batch = ENCODE(examples_of(scenes))
    expected = torch.tensor([reference(scene) for scene in scenes])
    assert torch.equal(image_features(batch.items, WORLD), expected)
    assert torch.equal(
        image_features(with_random_padding(batch, more_items=MAX_ITEMS - batch.items.features.size(2)).items, WORLD),
        expected,
    )


def test_the_vector_is_that_of_the_reference_on_nlvr(nlvr_folder):
    examples = worlds.read(nlvr_folder / "dev" / "dev.json")[::10]
    expected = torch.tensor([reference(example.scene) for example in examples])
    vectors = image_features(ENCODE(examples).items, WORLD)
    assert torch.equal(vectors, expected)
    per_slot = expected.view(-1, expected.size(1) // (3 * MAX_ITEMS))
    assert per_slot[:, : 11 + len(Side)].any(dim=0).all()  # every kind of item and of contact occurs
