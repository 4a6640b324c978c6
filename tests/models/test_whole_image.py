"""What holds of every model that judges the three boxes at once."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
import torch
from padding import with_rubbish
from torch.testing import assert_close

from samples import yellow_circle_examples
from veriscene.models.imagefeat_rnn import ImageFeatRNN
from veriscene.models.maxent import MaxEnt
from veriscene.models.mlp import MLP
from veriscene.models.whole_image import WholeImage
from veriscene.scenes.scene import Scene
from veriscene.tensors.batch import encode
from veriscene.tensors.vocabulary import Vocabulary

EXAMPLES = yellow_circle_examples(40)
VOCABULARY = Vocabulary.of((example.statement for example in EXAMPLES), minimum_count=1)
CORPUS = encode(EXAMPLES, VOCABULARY)
NAMES = ["maxent", "mlp", "imagefeat-rnn"]


def fresh(name: str) -> WholeImage:
    torch.manual_seed(0)
    if name == "maxent":
        return MaxEnt(words=VOCABULARY, penalty=1.0)
    if name == "mlp":
        return MLP(words=VOCABULARY, embedding=5, mlp=4)
    return ImageFeatRNN(vocabulary=len(VOCABULARY), embedding=5, hidden=4, mlp=3)


@pytest.fixture(scope="module", params=NAMES)
def trained(request) -> tuple[str, WholeImage]:
    """With weights that matter, in eval mode."""
    model = fresh(request.param)
    if isinstance(model, MaxEnt | MLP):
        model.prepare(CORPUS)
    if isinstance(model, MaxEnt):
        model.fit(CORPUS)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape))
    return request.param, model.eval()


def test_a_judgement_depends_neither_on_padding_nor_on_the_rest_of_the_batch(trained):
    _, model = trained
    together = model(with_rubbish(CORPUS, more_words=3, more_items=1))
    assert together.logits.unique().numel() > 10
    for row, example in enumerate(EXAMPLES):
        alone = model(encode([example], VOCABULARY))
        assert_close(together.logits[row], alone.logits[0], atol=1e-4, rtol=1e-4)
        assert_close(together.scores[row], alone.scores[0], atol=1e-4, rtol=1e-4)


def test_a_boxs_score_is_the_logit_of_a_scene_of_three_such_boxes(trained):
    _, model = trained
    scores = model(CORPUS).scores
    assert not scores.requires_grad
    for box in range(3):
        alike = [replace(e, scene=Scene((e.scene.boxes[box],) * 3)) for e in EXAMPLES]
        judgement = model(encode(alike, VOCABULARY))
        assert_close(judgement.logits, scores[:, box], atol=1e-4, rtol=1e-4)
        assert_close(judgement.scores, scores[:, [box] * 3], atol=1e-4, rtol=1e-4)


def test_scores_are_not_computed_in_training(trained):
    _, model = trained
    model.train()
    assert model(CORPUS).scores is None
    model.eval()


def test_only_the_flat_vector_sees_the_order_of_boxes(trained):
    name, model = trained
    turned = [replace(e, scene=Scene((*e.scene.boxes[1:], e.scene.boxes[0]))) for e in EXAMPLES]
    before, after = model(CORPUS), model(encode(turned, VOCABULARY))
    if name == "imagefeat-rnn":
        assert ((before.logits - after.logits).abs() > 1e-4).any()
    else:
        assert_close(before.logits, after.logits, atol=1e-4, rtol=1e-4)
        assert_close(before.scores[:, [1, 2, 0]], after.scores, atol=1e-4, rtol=1e-4)


def test_a_fresh_model_takes_up_a_saved_state_whatever_its_sizes(trained):
    name, model = trained
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    other = fresh(name).eval()
    other.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(other(CORPUS).logits, model(CORPUS).logits)
    assert all(type(tensor) is torch.Tensor for tensor in model.state_dict().values())


def test_a_state_of_another_width_is_refused():
    wider = MLP(words=VOCABULARY, embedding=6, mlp=4)
    with pytest.raises(RuntimeError, match="size mismatch for vectors"):
        fresh("mlp").load_state_dict(wider.state_dict())


@pytest.mark.parametrize("name", ["mlp", "imagefeat-rnn"])
def test_a_step_of_training_asks_the_device_nothing(name):
    """Tensors of the device `meta` have shapes and no contents, so that asking fails. A CUDA graph needs the same."""
    model = fresh(name)
    if isinstance(model, MLP):
        model.prepare(CORPUS)
    model.to("meta").train()
    model(CORPUS.to("meta")).logits.sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
