"""The models that see compute the equations of appendix A.1, for each example by itself, and freeze what they must."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from reference import attend, bilstm, elementwise_max, joint, keep, read_statement, score, under, weights_of
from torch.nn.functional import interpolate
from torch.testing import assert_close
from toy import VOCABULARY, Toy, toy_config

from samples import fresh_checkpoint, small_config, vocabulary_of, yellow_circle_examples
from veriscene import models
from veriscene.config import Config, TrainingConfig
from veriscene.data.batch import Batch, Statement, required
from veriscene.data.encoder import ItemOrder
from veriscene.errors import MissingRequirement
from veriscene.models.baselines import joined, small_boxes
from veriscene.models.vision import backbone as backbones
from veriscene.models.vision import feature_maps
from veriscene.models.vision.backbone import ResNetV1, weights_path
from veriscene.models.vision.feature_maps import FeatureMapModel
from veriscene.training.optimization import make_optimizer
from veriscene.training.step import PlainStep
from veriscene.worlds.nlvr import raster
from veriscene.worlds.nlvr.looks import WORLD

SEEING = [name for name, kind in models.MODELS.items() if issubclass(kind, FeatureMapModel)]
PIXELS = ["cnn-rnn", *SEEING]
EXAMPLES = yellow_circle_examples(6)
SIDE = 10


def convolved(weight: np.ndarray, bias: np.ndarray, cells: dict[tuple[int, int], np.ndarray]) -> dict:
    """relu of a 3 x 3 convolution without padding, one cell at a time."""
    inner = [(r, c) for r, c in cells if (r + 2, c + 2) in cells]
    return {
        (r, c): np.maximum(
            0, bias + sum(weight[:, :, i, j] @ cells[r + i, c + j] for i, j in product(range(3), range(3)))
        )
        for r, c in inner
    }


def read_cells(weights: dict[str, np.ndarray], vectors: list[np.ndarray]) -> np.ndarray:
    cells = {divmod(number, SIDE): vector for number, vector in enumerate(vectors)}
    for layer in range(3):
        cells = convolved(weights[f"layers.{layer}.weight"], weights[f"layers.{layer}.bias"], cells)
    assert len(cells) == 16
    return elementwise_max(list(cells.values()))


def cells_of(model: FeatureMapModel, maps: np.ndarray) -> list[np.ndarray]:
    """a_l = relu(W_x f_l + b_x) of one box's normalized map (channel, row, column)."""
    weights = weights_of(model)
    features = [maps[:, row, column] for row in range(SIDE) for column in range(SIDE)]
    return [np.maximum(0, weights["embed_cells.weight"] @ f + weights["embed_cells.bias"]) for f in features]


def cnn_biatt_scores(model: FeatureMapModel, example: Toy, maps: np.ndarray) -> list[float]:
    weights = weights_of(model)
    h, scores, matching = read_statement(weights, example, keep), [], under(weights, "matching")
    for box in maps:
        a = cells_of(model, box)
        h_hat = [joint(h_i, attend(h_i, matching["b1.weight"].T, a)[1], matching["w_lang.weight"]) for h_i in h]
        a_hat = [joint(a_l, attend(a_l, matching["b2.weight"].T, h)[1], matching["w_obj.weight"]) for a_l in a]
        h_bar = elementwise_max(bilstm(under(matching, "word_lstm"), h_hat, keep))
        a_bar = read_cells(under(matching, "cell_cnn"), a_hat)
        scores.append(score(weights, np.concatenate([h_bar, a_bar]), keep))
    return scores


def cnn_bienc_scores(model: FeatureMapModel, example: Toy, maps: np.ndarray) -> list[float]:
    weights = weights_of(model)
    h = read_statement(weights, example, keep)
    half = len(h[0]) // 2
    last = np.concatenate([h[-1][:half], h[0][half:]])
    boxes = [read_cells(under(weights, "cell_cnn"), cells_of(model, box)) for box in maps]
    return [float((weights["similarity.weight"] @ last) @ box) for box in boxes]


@pytest.mark.parametrize(("name", "reference"), [("cnn-biatt", cnn_biatt_scores), ("cnn-bienc", cnn_bienc_scores)])
def test_a_padded_batch_agrees_with_the_equations_of_each_example(name, reference) -> None:
    torch.manual_seed(0)
    sizes = {"embedding": 5, "hidden": 4, "joint": 7, "filters": 3, "mlp": 6}
    model = models.build(toy_config(name, sizes=sizes), vocabulary=VOCABULARY, world=WORLD).double().eval()
    for parameter in (p for key, p in model.named_parameters() if not key.startswith("backbone.")):
        torch.nn.init.normal_(parameter, std=0.5)
    words = [[3, 5, 2, 7], [4], [2, 8]]
    rows = torch.tensor([own + [9] * (5 - len(own)) for own in words])
    features = torch.randn(3, 3, 128, SIDE, SIDE, dtype=torch.float64)
    batch = Batch(Statement(rows, torch.tensor([len(own) for own in words])), features=features)
    model.mean.fill_(0.3)
    model.deviation.fill_(1.7)
    normalized, scores = (features.numpy() - 0.3) / 1.7, model(batch).scores
    for row, own in enumerate(words):
        expected = reference(model, Toy(own, [], True), normalized[row])
        np.testing.assert_allclose(scores[row].tolist(), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", PIXELS)
def test_a_verdict_does_not_depend_on_the_rest_of_the_batch(name: str) -> None:
    checkpoint = fresh_checkpoint(name, EXAMPLES)
    batch = checkpoint.encode(EXAMPLES)
    checkpoint.model.prepare(batch)
    checkpoint.model.eval()
    alone = torch.cat([checkpoint.model(batch[number : number + 1]).logits for number in range(len(EXAMPLES))])
    assert_close(checkpoint.model(batch).logits, alone, atol=1e-5, rtol=1e-4)
    assert len({round(logit, 5) for logit in alone.tolist()}) > 1


def test_small_pictures_are_the_corpus_pictures_resized_as_a_whole() -> None:
    encoded = fresh_checkpoint("cnn-rnn", EXAMPLES).encode(EXAMPLES)
    pictures = np.stack([raster.pixels(example.scene)[..., :3] for example in EXAMPLES])
    whole = interpolate(torch.from_numpy(pictures).permute(0, 3, 1, 2).float() / 255, (40, 160), mode="area")
    assert_close(joined(small_boxes(required(encoded.pixels))), whole)


@pytest.fixture
def pretrained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A tiny ResNet as the rendered backbone, with weights in a file."""

    def tiny() -> ResNetV1:
        return ResNetV1(size=160, stride=16, depths=(1, 1, 1, 1), width=4)

    monkeypatch.setitem(backbones.BACKBONES, "resnet50-rendered", tiny)
    monkeypatch.setenv("VERISCENE_CACHE", str(tmp_path))
    torch.manual_seed(5)
    network = tiny()
    for module in network.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_var.uniform_(0.5, 2)
    backbones.save_weights(network, backbones.weights_path("resnet50-rendered"), metadata={})


def seeing(name: str, *, end_to_end: bool, **more: str) -> tuple[FeatureMapModel, Batch]:
    config = Config(model=replace(small_config(name), backbone="resnet50-rendered", end_to_end=end_to_end, **more))
    torch.manual_seed(1)
    vocabulary = vocabulary_of(EXAMPLES)
    model = models.build(config.model, vocabulary=vocabulary, world=WORLD)
    assert isinstance(model, FeatureMapModel)
    batch = models.encoder(config, vocabulary, WORLD)(EXAMPLES)
    model.prepare(batch)
    return model, batch


@pytest.mark.usefixtures("pretrained")
@pytest.mark.parametrize("name", SEEING)
def test_a_frozen_backbone_never_changes_and_its_features_replace_the_pixels(name: str) -> None:
    model, batch = seeing(name, end_to_end=False)
    before = {key: tensor.clone() for key, tensor in model.backbone.state_dict().items()}
    extracted = model.extract(batch)
    seen = model.cells(extracted)
    assert abs(seen.mean()) < 0.01 and abs(seen.std() - 1) < 0.01
    assert extracted.pixels is None and extracted.features is not None and extracted.features.dtype == torch.float16
    assert_close(model.eval()(extracted).logits, model(batch).logits, atol=2e-2, rtol=2e-2)
    optimizer = make_optimizer(model, replace(Config(model=model.Config()).training, weight_decay=1.0), captured=False)
    model.train()
    model(extracted).logits.sum().backward()
    optimizer.step()
    model(batch)
    assert all(torch.equal(before[key], tensor) for key, tensor in model.backbone.state_dict().items())
    assert not any(parameter.requires_grad for parameter in model.backbone.parameters())


@pytest.mark.usefixtures("pretrained")
def test_each_channel_can_be_standardised_by_itself() -> None:
    model, batch = seeing("cnn-biatt", end_to_end=False, normalization="channel")
    seen = model.cells(model.extract(batch)).flatten(0, 2)
    responds = model.deviation.flatten() > 0.01
    assert responds.any()
    assert_close(seen.mean(dim=0), torch.zeros(seen.size(1)), atol=0.02, rtol=0)
    assert_close(seen.std(dim=0)[responds], torch.ones(int(responds.sum())), atol=0.05, rtol=0)


@pytest.mark.usefixtures("pretrained")
@pytest.mark.parametrize("name", SEEING)
def test_whitened_maps_are_the_left_singular_vectors_of_the_centred_maps(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feature_maps, "WHITENED", 8)
    model, batch = seeing(name, end_to_end=False, normalization="whitened")
    with torch.no_grad():
        maps = model.backbone(required(batch.pixels).flatten(0, 1)).double().flatten(2).mT.flatten(0, 1)
    u = torch.linalg.svd(maps - maps.mean(dim=0), full_matrices=False)[0]
    expected = u[:, :8] * (len(maps) - 1) ** 0.5
    seen = model.cells(batch).flatten(0, 2).double()
    signs = (seen * expected).mean(dim=0).sign()
    assert_close(seen * signs, expected, atol=1e-3, rtol=1e-3)
    assert model.embed_cells.in_features == 8 and not model.components.requires_grad
    assert_close(model.eval()(model.extract(batch)).logits, model(batch).logits, atol=2e-2, rtol=2e-2)


@pytest.mark.usefixtures("pretrained")
@pytest.mark.parametrize("statistics", ["file", "train"])
def test_statistics_of_batch_norm_are_those_of_what_it_reads_of_train_pictures(
    statistics: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feature_maps, "CPU_BATCH", 3 * len(EXAMPLES))
    model, batch = seeing("cnn-biatt", end_to_end=False, statistics=statistics)
    read = dict[torch.nn.BatchNorm2d, torch.Tensor]()
    for module in model.backbone.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.register_forward_pre_hook(lambda own, inputs: read.update({own: inputs[0]}))
    model.cells(batch)
    assert len(read) == 17 and not model.backbone.training
    for norm, inputs in read.items():
        variance, mean = torch.var_mean(inputs, dim=(0, 2, 3))
        own = torch.cat([norm.running_mean, norm.running_var])
        matches = torch.allclose(own, torch.cat([mean, variance]), atol=1e-2, rtol=1e-2)
        assert matches is (statistics == "train")


@pytest.mark.usefixtures("pretrained")
@pytest.mark.parametrize("name", SEEING)
def test_end_to_end_the_backbone_learns_more_slowly(name: str) -> None:
    model, batch = seeing(name, end_to_end=True)
    assert model.extract(batch) is batch
    groups = model.parameter_groups()
    of_layers = [0.1] if name == "nmn" else [0.1, 0.3]
    assert [group.get("rate", 1.0) for group in groups] == [1.0, *of_layers, 0.1]
    assert sum(len(group["params"]) for group in groups) == len(list(model.parameters()))
    model.train()(batch).logits.sum().backward()
    assert all(parameter.grad is not None for parameter in model.backbone.parameters())
    settings = TrainingConfig(batch=len(batch), weight_decay=0.3)
    optimizer = make_optimizer(model, settings, captured=False)
    step, share = PlainStep(model, optimizer, settings, ItemOrder.FILE), torch.full((len(batch),), 1 / len(batch))
    step(batch, torch.arange(len(batch)), share, learning_rate=1e-3)
    rates = [group["lr"] for group in optimizer.param_groups]
    assert rates == pytest.approx([1e-3 * rate for rate in (1.0, *of_layers, 0.1)])
    decays = [rate * group["weight_decay"] for rate, group in zip(rates, optimizer.param_groups, strict=True)]
    assert decays == pytest.approx(
        [3e-4] * (len(groups) - 1) + [3e-5]
    )  # layers on maps decay like the rest, a backbone less


@pytest.mark.parametrize("name", SEEING)
def test_missing_weights_are_named_before_training(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VERISCENE_CACHE", str(tmp_path))
    config = replace(models.MODELS[name].Config(), backbone="resnet50-rendered")
    with pytest.raises(MissingRequirement, match="`veriscene pretrain ") as caught:
        models.check(config, WORLD)
    assert caught.value.where == weights_path("resnet50-rendered")


@pytest.mark.parametrize("name", [name for name in PIXELS if name != "nmn"])  # it plateaus for hundreds of steps
def test_a_model_memorises_what_its_pictures_show(name: str) -> None:
    """Every statement occurs with both labels, so that words alone do not help."""
    twins = [replace(e, statement="there is something", label=number % 2 == 0) for number, e in enumerate(EXAMPLES)]
    config, vocabulary = Config(model=small_config(name, dropout=0.0)), vocabulary_of(twins)
    torch.manual_seed(1)
    model, batch = (
        models.build(config.model, vocabulary=vocabulary, world=WORLD),
        models.encoder(config, vocabulary, WORLD)(twins),
    )
    model.prepare(batch)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(60):
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model.train()(batch).logits, required(batch.labels))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loss < 0.2:
            break
    assert loss < 0.2
