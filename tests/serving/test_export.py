"""The exported file judges as the model does, at shapes that it has never seen."""

from __future__ import annotations

import itertools
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from samples import random_scene, yellow_circle_examples
from scripts import script
from veriscene import models
from veriscene.config import Config, DataConfig, ModelConfig
from veriscene.errors import InputError
from veriscene.models.base import Judgement
from veriscene.models.layers.coordinates import COORDINATES
from veriscene.models.layers.pooling import POOLINGS, SCORE_COMBINATIONS
from veriscene.scenes.nlvr import Example
from veriscene.scenes.scene import Box, Scene, scene_to_json
from veriscene.serving.judge import Judge, Verdict
from veriscene.serving.onnx.export import export
from veriscene.serving.onnx.judge import Arrays, OnnxJudge, load_onnx, open_session
from veriscene.tensors.batch import Batch, ItemOrder, encode
from veriscene.tensors.vocabulary import Vocabulary
from veriscene.training.checkpoint import Checkpoint

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

SIZES = {"embedding": 4, "hidden": 3, "item": 5, "joint": 6, "mlp": 7}
KINDS = [("bienc", pooling) for pooling in SCORE_COMBINATIONS]
KINDS += list(itertools.product(("biatt", "biatt-pointer"), POOLINGS))
STATEMENT = "There is a yellow circle."
INPUTS = ("words", "lengths", "items", "counts")


def some_examples(count: int, seed: int = 0) -> list[Example]:
    """Statements of two lengths, boxes of one to eight items."""
    rng = random.Random(seed)
    named = yellow_circle_examples(count, seed)
    return [Example(e.identifier, e.statement, random_scene(rng), e.label) for e in named]


EXAMPLES = some_examples(40)


def checkpoint_of(name: str, pooling: str = "max", order: str = "random", coordinates: str = "corner") -> Checkpoint:
    """Weights at random, the biases too: a fresh model's are zero and would hide one in the wrong place."""
    torch.manual_seed(7)
    vocabulary = Vocabulary.of((example.statement for example in EXAMPLES), minimum_count=1)
    sizes = ModelConfig(name=name, pooling=pooling, coordinates=coordinates, **SIZES)
    model = models.build(sizes, vocabulary=vocabulary).eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    return Checkpoint(model, Config(model=sizes, data=DataConfig(order=order)), vocabulary, {})


def random_batch(size: int, words: int, vocabulary: int, rng: np.random.Generator) -> Batch:
    """One statement fills the words and one box the items; anything may stand beyond the end of the others."""
    lengths, counts = rng.integers(1, words + 1, size), rng.integers(1, 9, (size, 3))
    lengths[rng.integers(size)] = words
    items = rng.normal(size=(size, 3, counts.max(), 9)).astype(np.float32)
    positions = np.broadcast_to(np.arange(counts.max()), items.shape[:3])
    arrays = (rng.integers(0, vocabulary, (size, words)), lengths, items, counts, positions.copy())
    return Batch(*map(torch.from_numpy, arrays))


def alike(ours: np.ndarray, theirs: torch.Tensor, meaningful: torch.Tensor | None = None) -> bool:
    where = slice(None) if meaningful is None else meaningful.expand(theirs.shape).numpy()
    return bool(np.allclose(ours[where], theirs.numpy()[where], rtol=0, atol=1e-4)) and ours.shape == theirs.shape


@pytest.mark.parametrize(("name", "pooling"), KINDS)
def test_the_file_judges_as_the_model_at_every_shape(name: str, pooling: str, tmp_path: Path) -> None:
    checkpoint, rng = checkpoint_of(name, pooling), np.random.default_rng(5)
    export(checkpoint, tmp_path / "model.onnx")
    session = open_session(tmp_path / "model.onnx", threads=1)
    names = [output.name for output in session.get_outputs()]
    assert names == ["logits", "scores", "order", "alpha", "beta"][: 3 if name == "bienc" else 5]
    for size, words in itertools.product((1, 2, 7, 64), (1, 5, 25)):
        batch = random_batch(size, words, len(checkpoint.vocabulary), rng)
        with torch.inference_mode():
            expected: Judgement = checkpoint.model(batch)
        found = dict(zip(names, session.run(None, {n: getattr(batch, n).numpy() for n in INPUTS}), strict=True))
        assert alike(found["logits"], expected.logits) and alike(found["scores"], expected.scores)
        assert np.array_equal(found["order"], expected.order.numpy())
        if expected.alpha is not None and expected.beta is not None:
            real = batch.word_mask[:, None, :, None] & batch.item_mask[:, :, None]
            assert alike(found["alpha"], expected.alpha, real)
            assert alike(found["beta"], expected.beta, real.mT)


def test_items_padded_to_any_number_are_judged_alike(tmp_path: Path) -> None:
    checkpoint = checkpoint_of("biatt-pointer")
    export(checkpoint, tmp_path / "model.onnx")
    session, batch = open_session(tmp_path / "model.onnx", threads=1), checkpoint.encode(yellow_circle_examples(5))
    given = {n: getattr(batch, n).numpy() for n in INPUTS}
    narrow = session.run(["logits"], given)[0]
    extra = [(0, 0), (0, 0), (0, 8 - given["items"].shape[2]), (0, 0)]
    wide = session.run(["logits"], given | {"items": np.pad(given["items"], extra)})[0]
    assert np.allclose(narrow, wide, atol=1e-6)


@pytest.mark.parametrize(
    ("order", "coordinates"), list(itertools.zip_longest((o.value for o in ItemOrder), COORDINATES, fillvalue="random"))
)
@pytest.mark.parametrize("name", ["bienc", "biatt", "biatt-pointer"])
def test_the_onnx_judge_answers_as_the_judge(name: str, order: str, coordinates: str, tmp_path: Path) -> None:
    checkpoint = checkpoint_of(name, order=order, coordinates=coordinates)
    export(checkpoint, tmp_path / "model.onnx")
    judge, reference = load_onnx(tmp_path / "model.onnx", threads=2), Judge(checkpoint)
    questions = [(example.statement, example.scene) for example in EXAMPLES]
    for verdict, expected in zip(judge.stream(iter(questions), batch=37), reference.stream(questions), strict=True):
        same_verdict(verdict, expected)
    for statement, scene in questions[:5]:
        same_verdict(judge(statement, scene_to_json(scene)), reference(statement, scene))


def same_verdict(verdict: Verdict, expected: Verdict) -> None:
    assert verdict.order == expected.order and verdict.order_is_chosen == expected.order_is_chosen
    assert verdict.probability == pytest.approx(expected.probability, abs=1e-5)
    assert verdict.per_box == pytest.approx(expected.per_box, abs=1e-5)
    assert (verdict.attention is None) == (expected.attention is None)
    if verdict.attention is not None and expected.attention is not None:
        assert verdict.attention.words == expected.attention.words
        for name in ("words_to_items", "items_to_words"):
            for box, same in zip(getattr(verdict.attention, name), getattr(expected.attention, name), strict=True):
                assert np.allclose(box, same, atol=1e-5) and np.shape(box) == np.shape(same)


@pytest.mark.parametrize("order", ItemOrder)
def test_arrays_are_what_encode_gives(order: ItemOrder) -> None:
    examples, vocabulary = some_examples(200, seed=3), checkpoint_of("biatt").vocabulary
    for chunk in (examples, *([example] for example in examples[:20])):
        batch, arrays = encode(chunk, vocabulary).in_order(order), Arrays.of(chunk, vocabulary, order)
        for name, values in vars(arrays).items():
            expected = getattr(batch, name).numpy()
            assert values.dtype == expected.dtype and np.array_equal(values, expected), name


@pytest.fixture
def judge(tmp_path: Path) -> OnnxJudge:
    export(checkpoint_of("biatt-pointer"), tmp_path / "model.onnx")
    return load_onnx(tmp_path / "model.onnx")


def test_a_stream_takes_no_more_than_it_needs(judge: OnnxJudge) -> None:
    taken = []

    def endless() -> Iterator[tuple[str, Scene]]:
        while True:
            taken.append(1)
            yield STATEMENT, EXAMPLES[0].scene

    next(judge.stream(endless(), batch=4))
    assert len(taken) == 4
    with pytest.raises(InputError, match="at least 1"):
        next(judge.stream([], batch=0))


def test_bad_questions_are_named(judge: OnnxJudge) -> None:
    first, second, _ = EXAMPLES[0].scene.boxes
    with pytest.raises(InputError, match="not blank"):
        judge(" ", EXAMPLES[0].scene)
    with pytest.raises(InputError, match="a box is empty"):
        judge(STATEMENT, Scene((first, second, Box(()))))


def test_the_file_carries_vocabulary_order_and_configuration(tmp_path: Path) -> None:
    checkpoint = checkpoint_of("biatt", pooling="joint", order="sorted")
    export(checkpoint, tmp_path / "new folder" / "model.onnx")
    judge = load_onnx(tmp_path / "new folder" / "model.onnx")
    assert judge.vocabulary == checkpoint.vocabulary and judge.order is ItemOrder.SORTED
    described = open_session(tmp_path / "new folder" / "model.onnx", threads=1).get_modelmeta().custom_metadata_map
    assert json.loads(described["config"]) == checkpoint.config.to_json()
    onnx.checker.check_model(str(tmp_path / "new folder" / "model.onnx"), full_check=True)


@pytest.mark.parametrize("name", ["model", "model.ONNX", "dev.json"])
def test_a_name_by_which_it_would_not_be_found_again_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "dev.json").write_text("{}")
    with pytest.raises(InputError, match=f"{name}: must end in .onnx"):
        export(checkpoint_of("bienc"), tmp_path / name)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["{}"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"old")

    def full(self: Path, _target: Path) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as context:
        context.setattr(Path, "replace", full)
        with pytest.raises(InputError, match=r"model.onnx: cannot be written \(No space left on device\)"):
            export(checkpoint_of("bienc"), path)
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]
    with pytest.raises(InputError, match="cannot be written"):
        export(checkpoint_of("bienc"), path / "below a file.onnx")


def test_a_graph_that_disagrees_with_the_model_is_not_written(tmp_path: Path) -> None:
    checkpoint = checkpoint_of("biatt")
    checkpoint.model.register_forward_hook(
        lambda _model, _given, judged: Judgement(judged.logits + 1, *judged_rest(judged))
    )
    with pytest.raises(RuntimeError, match="logits"):
        export(checkpoint, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def judged_rest(judged: Judgement) -> tuple[torch.Tensor, torch.Tensor]:
    return judged.scores, judged.order


def test_an_unknown_model_is_refused(tmp_path: Path) -> None:
    checkpoint = checkpoint_of("biatt")
    with pytest.raises(InputError, match="Linear cannot be exported"):
        export(Checkpoint(nn.Linear(2, 2), checkpoint.config, checkpoint.vocabulary, {}), tmp_path / "model.onnx")


def test_foreign_and_damaged_files_are_one_line(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    export(checkpoint_of("bienc"), path)
    whole = path.read_bytes()
    identity = onnx.helper.make_node("Identity", ["x"], ["y"])
    x, y = (onnx.helper.make_tensor_value_info(name, 1, [1]) for name in "xy")
    foreign = onnx.helper.make_model(
        onnx.helper.make_graph([identity], "g", [x], [y]),
        opset_imports=[onnx.helper.make_opsetid("", 18)],
        ir_version=8,
    )
    cases = [whole[: len(whole) * part // 20] for part in range(20)] + [whole[:-1], b"nonsense", b"PK\x03\x04"]
    cases += [foreign.SerializeToString(), whole.replace(b"veriscene_format\x12\x011", b"veriscene_format\x12\x019")]
    for contents in cases:
        path.write_bytes(contents)
        with pytest.raises(InputError, match=r"model\.onnx: (damaged|not a file|written by another)") as caught:
            load_onnx(path)
        assert "\n" not in str(caught.value)
    for missing in (tmp_path, tmp_path / "none.onnx"):
        with pytest.raises(InputError, match="no such file"):
            load_onnx(missing)


@pytest.mark.parametrize("package", ["onnx", "onnxruntime"])
def test_a_missing_package_is_named(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=rf"{package} is not installed; pip install 'veriscene\[onnx\]'"):
        export(checkpoint_of("bienc"), tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["biatt", "biatt-pointer"])
def test_the_benchmark_compares_the_same_work(name: str) -> None:
    benchmark = script("predict")
    told: list[int] = []
    result = benchmark.bench_predict(
        checkpoint_of(name),
        EXAMPLES[:10],
        seconds=0,
        threads=1,
        progress=lambda percent, _: told.append(percent),
    )
    assert told == sorted(told) and told[0] == 0 and 50 in told and 75 < told[-1] <= 100
    assert result["examples"] == 10 and result["threads"] == 1
    for way in ("one_at_a_time", "bulk"):
        assert result[way]["ours"] > 0 and result[way]["plain"] > 0 and result[way]["turns"] == 3
    assert "examples/s" in benchmark.describe(json.loads(json.dumps(result)))
    with pytest.raises(InputError, match="no plain bienc"):
        benchmark.bench_predict(checkpoint_of("bienc"), EXAMPLES[:10], seconds=0)
