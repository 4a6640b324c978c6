"""An exported file has the model's outputs, is written completely or not at all, and is refused if damaged."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from samples import yellow_circle_examples
from scripts import script
from small_models import EXAMPLES, exported, small_checkpoint
from veriscene import models
from veriscene.config import Config, ModelConfig, size
from veriscene.data.batch import Batch, required
from veriscene.data.encoder import Input
from veriscene.data.vocabulary import Vocabulary
from veriscene.errors import InputError
from veriscene.judge.checkpoint import Checkpoint, TorchJudge
from veriscene.judge.export import export
from veriscene.judge.onnx_judge import FORMAT, OnnxJudge
from veriscene.judge.sessions import Graph
from veriscene.models.base import Judgement, Model
from veriscene.models.layers.pooling import SCORE_COMBINATIONS
from veriscene.world.examples import MAX_WORDS
from veriscene.world.schema import World
from veriscene.worlds.nlvr.looks import WORLD

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

# `export` itself compares each of them with torch, at 24 shapes. The poolings are layers like others.
FEW_ITEMS = replace(WORLD, items=(1, 3))  # a pointer network is exported item by item
KINDS = [("bienc", "mean", "contact"), ("biatt", "lstm", "corner"), ("biatt-pointer", "joint", "contact")]


@pytest.mark.parametrize(("name", "pooling", "coordinates"), KINDS)
def test_the_papers_models_are_exported_with_all_their_outputs(
    name: str, pooling: str, coordinates: str, tmp_path: Path
) -> None:
    checkpoint = small_checkpoint(name, world=FEW_ITEMS, pooling=pooling, coordinates=coordinates)
    export(checkpoint, tmp_path / "model.onnx")
    outputs = {output.name for output in Graph(tmp_path / "model.onnx", threads=1).session.get_outputs()}
    scores = {"scores"} if pooling in SCORE_COMBINATIONS else set()
    attention = set() if name == "bienc" else {"alpha", "beta"}
    assert outputs == {"logits", "order"} | scores | attention
    onnx.checker.check_model(str(tmp_path / "model.onnx"), full_check=True)


def test_items_are_read_in_the_configured_order(tmp_path: Path) -> None:
    checkpoint = small_checkpoint("bienc", order="sorted")
    export(checkpoint, tmp_path / "new folder" / "model.onnx")
    judge, reference = OnnxJudge.load(tmp_path / "new folder" / "model.onnx"), TorchJudge(checkpoint)
    assert judge.encoder == checkpoint.encoder
    for example in EXAMPLES[:10]:
        found, expected = judge(example.statement, example.scene), reference(example.statement, example.scene)
        assert found.order == expected.order
        assert found.probability == pytest.approx(expected.probability, abs=1e-5)


def test_a_world_of_one_item_a_box_is_exported(tmp_path: Path) -> None:
    checkpoint = small_checkpoint("biatt-pointer", world=replace(WORLD, boxes=(1, 1), items=(1, 1)))
    export(checkpoint, tmp_path / "model.onnx")  # which compares them
    assert (tmp_path / "model.onnx").exists()


@dataclass(frozen=True)
class CounterConfig(ModelConfig):
    name: str = "counter"
    hidden: int = size(4)


class Counter(Model):
    """A model that the exporter does not know: an LSTM over the items, the words as a bag."""

    Config = CounterConfig

    def __init__(self, config: CounterConfig, vocabulary: Vocabulary, world: World) -> None:
        super().__init__(config, vocabulary, world)
        self.words = nn.Embedding(len(vocabulary), config.hidden)
        self.lstm = nn.LSTM(world.feature_count, config.hidden, batch_first=True)

    def forward(self, batch: Batch) -> Judgement:
        items = required(batch.items)
        outputs, _ = self.lstm(items.features.flatten(0, 1))
        seen = outputs.unflatten(0, items.counts.shape).masked_fill(~items.mask[..., None], 0).sum(dim=2)
        words = self.words(batch.statement.words).masked_fill(~batch.statement.mask[..., None], 0).sum(dim=1)
        return self.judgement(torch.einsum("bjd,bd->bj", seen, words))

    def judgement(self, scores: Tensor) -> Judgement:
        return Judgement(logits=scores.amax(dim=1), scores=scores)


class Transformer(Counter):
    """Of usual sizes: rounding errors of its scores, which random weights make large, exceed 1e-4."""

    def __init__(self, config: CounterConfig, vocabulary: Vocabulary, world: World) -> None:
        hidden = config.hidden
        super().__init__(replace(config, hidden=32 * hidden), vocabulary, world)
        self.places, self.items = nn.Embedding(MAX_WORDS, 32 * hidden), nn.Linear(world.feature_count, 32 * hidden)
        layer = nn.TransformerEncoderLayer(32 * hidden, hidden, norm_first=True, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
        self.score = nn.Linear(32 * hidden, 1)
        for parameter in self.parameters():
            nn.init.normal_(parameter, std=0.5)

    def forward(self, batch: Batch) -> Judgement:
        items, words = required(batch.items), batch.statement.words
        h = (self.words(words) + self.places(torch.arange(words.size(1))))[:, None].expand(-1, 3, -1, -1)
        mask = torch.cat([batch.statement.mask[:, None].expand(-1, 3, -1), items.mask], dim=2)
        read = self.encoder(
            torch.cat([h, self.items(items.features)], dim=2).flatten(0, 1), src_key_padding_mask=~mask.flatten(0, 1)
        )
        read = read.unflatten(0, items.counts.shape).masked_fill(~mask[..., None], -torch.inf)
        return self.judgement(self.score(read.amax(dim=2)).squeeze(-1))


class Unrolled(Counter):
    """Its loop over the words would be frozen at the length that was traced."""

    def forward(self, batch: Batch) -> Judgement:
        total = sum(self.words(batch.statement.words[:, step]) for step in range(batch.statement.words.size(1)))
        assert isinstance(total, Tensor)
        return self.judgement(total[:, :3])


class Different(Counter):
    """Its exported graph is not what torch computes."""

    def judgement(self, scores: Tensor) -> Judgement:
        return super().judgement(scores + 1e-3 if torch.compiler.is_exporting() else scores)


class Pictures(Counter):
    inputs = frozenset({Input.PIXELS})


def checkpoint_of(kind: type[Model], monkeypatch: pytest.MonkeyPatch) -> Checkpoint:
    monkeypatch.setitem(models.MODELS, "counter", kind)
    config, vocabulary = Config(model=CounterConfig()), small_checkpoint("biatt").encoder.vocabulary
    torch.manual_seed(3)
    model = models.build(config.model, vocabulary=vocabulary, world=WORLD).eval()
    return Checkpoint(model, config, models.encoder(config, vocabulary, WORLD), {})


@pytest.mark.parametrize("kind", [Counter, Transformer])
def test_a_new_model_is_exported_without_new_code(
    kind: type[Model], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = checkpoint_of(kind, monkeypatch)
    export(checkpoint, tmp_path / "model.onnx")
    judge, reference = OnnxJudge.load(tmp_path / "model.onnx"), TorchJudge(checkpoint)
    for example in EXAMPLES[:10]:
        found, expected = judge(example.statement, example.scene), reference(example.statement, example.scene)
        assert found.probability == pytest.approx(expected.probability, abs=1e-4)
        assert found.per_box == pytest.approx(expected.per_box, abs=1e-4)
    assert str(Path.cwd()).encode() not in (tmp_path / "model.onnx").read_bytes()


@contextmanager
def refused(folder: Path) -> Iterator[None]:
    with pytest.raises(InputError) as caught:
        yield
    assert "\n" not in str(caught.value) and not list(folder.iterdir())


@pytest.mark.parametrize("kind", [Unrolled, Pictures, Different])
def test_a_model_that_cannot_be_exported_or_whose_graph_differs_is_one_line(
    kind: type[Model], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with refused(tmp_path):
        export(checkpoint_of(kind, monkeypatch), tmp_path / "model.onnx")


@pytest.mark.parametrize("name", ["biatt", "relation-net"])
def test_weights_that_are_not_finite_are_refused(name: str, tmp_path: Path) -> None:
    checkpoint = small_checkpoint(name, dropout=0.1)
    weight = checkpoint.model.embed_words.weight
    assert isinstance(weight, Tensor)
    for value in (float("nan"), float("inf")):
        weight.data[3, 1] = value
        with refused(tmp_path):
            export(checkpoint, tmp_path / "model.onnx")


@pytest.mark.parametrize("name", ["model", "model.ONNX", "dev.json"])
def test_a_name_that_predict_would_not_recognise_is_refused(tmp_path: Path, name: str) -> None:
    with refused(tmp_path):
        export(small_checkpoint("bienc"), tmp_path / name)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"old")

    def full(self: Path, _target: Path) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as context:
        context.setattr(Path, "replace", full)
        with pytest.raises(InputError) as caught:
            export(small_checkpoint("bienc"), path)
    assert caught.value.where == path
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]
    with pytest.raises(InputError):
        export(small_checkpoint("bienc"), path / "below a file.onnx")


def test_foreign_and_damaged_files_are_one_line(tmp_path: Path) -> None:
    whole, path = exported("bienc").read_bytes(), tmp_path / "model.onnx"
    identity = onnx.helper.make_node("Identity", ["x"], ["y"])
    x, y = (onnx.helper.make_tensor_value_info(name, 1, [1]) for name in "xy")
    foreign = onnx.helper.make_model(
        onnx.helper.make_graph([identity], "g", [x], [y]),
        opset_imports=[onnx.helper.make_opsetid("", 18)],
        ir_version=8,
    )
    damaged = [whole[: len(whole) * part // 20] for part in range(20)] + [whole[:-1], b"nonsense", b"PK\x03\x04"]
    damaged += [foreign.SerializeToString(), whole.replace(b'"<pad>"', b'"<bad>"'), whole.replace(b"given", b"taken")]
    format_2 = whole.replace(b"veriscene_format\x12\x013", b"veriscene_format\x12\x012")
    assert format_2 != whole
    for contents in (*damaged, format_2):
        path.write_bytes(contents)
        with pytest.raises(InputError) as caught:
            OnnxJudge.load(path)
        assert str(caught.value.where).startswith(str(path))
    for missing in (tmp_path, tmp_path / "none.onnx"):
        with pytest.raises(InputError):
            OnnxJudge.load(missing)


def test_the_file_carries_its_configuration() -> None:
    metadata = Graph(exported("biatt-pointer"), threads=1).session.get_modelmeta().custom_metadata_map
    assert json.loads(metadata["config"]) == small_checkpoint("biatt-pointer").config.to_json()
    assert metadata["order"] == "chosen" and metadata["veriscene_format"] == FORMAT


@pytest.mark.parametrize("package", ["onnx", "onnxscript"])
def test_a_missing_package_is_named(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with refused(tmp_path):
        export(small_checkpoint("bienc"), tmp_path / "model.onnx")


@pytest.mark.parametrize("name", ["biatt", "biatt-pointer"])
def test_the_benchmark_compares_equal_work(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    benchmark = script("predict")
    monkeypatch.setattr(benchmark, "export", lambda _, path: shutil.copy(exported(name), path))
    percents: list[int] = []
    result = benchmark.bench_predict(
        small_checkpoint(name),
        yellow_circle_examples(10),
        seconds=0,
        threads=1,
        progress=lambda percent, _: percents.append(percent),
    )
    assert percents == sorted(percents) and percents[0] == 0 and 50 in percents and 75 < percents[-1] <= 100
    assert result["examples"] == 10 and result["threads"] == 1
    for way in ("one_at_a_time", "bulk"):
        assert result[way]["ours"] > 0 and result[way]["plain"] > 0 and result[way]["turns"] == 3
    assert "examples/s" in benchmark.describe(json.loads(json.dumps(result)))
    with pytest.raises(InputError):
        benchmark.bench_predict(small_checkpoint("bienc"), EXAMPLES[:10], seconds=0)
