"""Where training examples come from: splits, batches, item orders, fingerprints and supervision."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from samples import small_config, write_corpus, yellow_circle_examples
from training_toys import PixelConfig, PixelModel
from veriscene import models
from veriscene.config import Config, DataConfig, TrainingConfig
from veriscene.data.batch import required
from veriscene.data.encoder import ItemOrder
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.models import load_preset
from veriscene.training.source import CorpusSource, Epoch, Given, Source, batches
from veriscene.training.spec import Record, Spec
from veriscene.training.train import train
from veriscene.world.corpus import share_of
from veriscene.world.examples import Example
from veriscene.worlds.nlvr import pictures as picture
from veriscene.worlds.nlvr import synthetic
from veriscene.worlds.nlvr.looks import WORLD
from veriscene.worlds.nlvr.pictures import render_examples, to_png


def source(train: list[Example], dev: list[Example], **data: object) -> CorpusSource:
    config = Config(small_config("biatt"), DataConfig(**data), TrainingConfig(batch=16))
    return CorpusSource(Given(config, WORLD, train, dev, "labels"))


@given(st.lists(st.integers(1, 25), min_size=1, max_size=90), st.integers(1, 16), st.integers(1, 5), st.integers(0, 9))
def test_an_epoch_has_every_example_once_in_as_few_batches_as_possible(
    lengths: list[int], size: int, window: int, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    found = batches(torch.tensor(lengths), size=size, window=window, generator=generator)
    assert sorted(torch.cat(found).tolist()) == list(range(len(lengths)))
    assert len(found) == -(-len(lengths) // size)
    assert all(len(batch) <= size for batch in found)


def test_windows_group_statements_of_similar_length() -> None:
    lengths = torch.randint(1, 25, (800,), generator=torch.Generator().manual_seed(0))

    def padding(window: int) -> int:
        generator = torch.Generator().manual_seed(1)
        found = batches(lengths, size=20, window=window, generator=generator)
        return sum(int(lengths[batch].max()) * len(batch) for batch in found) - int(lengths.sum())

    assert padding(8) < 0.4 * padding(1)


@pytest.mark.parametrize("order", ["file", "sorted", "random"])
def test_item_orders_are_those_of_the_configuration_and_only_random_ones_change(order: str) -> None:
    examples = yellow_circle_examples(40)
    made = source(examples, examples, order=order)
    first, again, second = (required(made.epoch(number).corpus.items).positions for number in (0, 0, 1))
    assert torch.equal(first, again)
    assert torch.equal(first, second) is (order != "random")
    expected = required(replace(made.encoder, order=ItemOrder(order))(examples).items).positions
    assert torch.equal(first, expected) is (order != "random")
    assert torch.equal(first.sort(dim=2).values, expected.sort(dim=2).values)


def test_typing_errors_follow_from_the_seed_and_are_redrawn_each_epoch() -> None:
    examples = yellow_circle_examples(40)
    noisy, plain = (source(examples, examples, minimum_count=1, typing_noise=share) for share in (0.2, 0.0))
    first, again, second = (noisy.epoch(number).corpus.statement.fingerprint() for number in (0, 0, 1))
    assert first == again != second
    assert plain.epoch(0).corpus.statement.fingerprint() == plain.train.statement.fingerprint()
    assert noisy.train.fingerprint() == plain.train.fingerprint() and noisy.dev.fingerprint() == plain.dev.fingerprint()


def test_the_fingerprint_changes_with_any_split_and_is_not_zero_for_equal_ones() -> None:
    examples = yellow_circle_examples(16)
    flipped = [replace(examples[0], label=not examples[0].label), *examples[1:]]
    reworded = [replace(examples[0], statement=examples[1].statement), *examples[1:]]
    assert examples[0].statement != examples[1].statement
    pairs = [(a, b) for a in (examples, flipped, reworded) for b in (examples, flipped)]
    found = [source(train, dev, minimum_count=1).fingerprint for train, dev in pairs]
    assert 0 not in found and len(set(found)) == len(pairs)
    assert source(examples, examples, minimum_count=1).fingerprint == found[0]


@given(st.floats(0.001, 1), st.floats(0.001, 1), st.integers(0, 5), st.booleans())
def test_a_share_of_the_train_statements_has_whole_directories_and_grows_with_the_share(
    one: float, other: float, seed: int, has_directories: bool
) -> None:
    examples = [
        replace(
            each,
            identifier=f"{number % 60}-{number // 60}",
            directory=str(number % 20) if has_directories else None,
            statement=f"circle {number % 60}",
        )
        for number, each in enumerate(yellow_circle_examples(120))
    ]
    few, many = (share_of(examples, share, seed=seed) for share in sorted((one, other)))
    kept = {each.directory if has_directories else each.statement for each in many}
    assert many == [each for each in examples if (each.directory if has_directories else each.statement) in kept]
    assert 0 <= len({each.statement for each in many}) - 60 * max(one, other) < (3 if has_directories else 1)
    assert {each.identifier for each in few} <= {each.identifier for each in many}
    assert share_of(examples, 1.0, seed=seed) == examples


def test_a_run_records_the_share_that_it_learns_from_and_scores_all_of_dev(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus", yellow_circle_examples(40), yellow_circle_examples(6, seed=1))
    made = CorpusSource.open(Config(small_config("biatt"), DataConfig(train_share=0.25, minimum_count=1)), corpus)
    assert len(made.train) < 20 and len(made.dev) == 6 and "data.train_share" in made.remark
    changes = ["data.train_share=0.5"]
    assert Spec.from_json(Spec.of("quick", changes=changes).to_json(), where="").config.data.train_share == 0.5
    with pytest.raises(InputError) as caught:
        Spec.of("spatial-synthetic", changes=changes)
    assert caught.value.where == "--set data.train_share"


def test_a_vocabulary_without_words_is_refused() -> None:
    examples = yellow_circle_examples(3)
    texts = ("yellow circle", "black square", "blue triangle")
    three = [replace(example, statement=text) for example, text in zip(examples, texts, strict=True)]
    with pytest.raises(InputError) as error:
        source(three, three, minimum_count=3)
    assert "\n" not in str(error.value) and "minimum_count" in str(error.value)
    assert len(source(three, three, minimum_count=1).encoder.vocabulary) == 2 + 6


def test_examples_of_one_statement_count_separately_only_if_examples_are_counted() -> None:
    three = [replace(example, statement="yellow circle") for example in yellow_circle_examples(3)]
    assert len(source(three, three, minimum_count=3, counting="examples").encoder.vocabulary) == 2 + 2
    with pytest.raises(InputError):
        source(three, three, minimum_count=3, counting="statements")


@pytest.mark.parametrize("split", ["train", "dev"])
def test_a_missing_label_is_refused_with_its_place(split: str, tmp_path: Path) -> None:
    examples = yellow_circle_examples(8)
    unlabelled = [*examples[:3], replace(examples[3], label=None), *examples[4:]]
    splits = {"train": examples, "dev": examples, split: unlabelled}
    folder = write_corpus(tmp_path, splits["train"], splits["dev"])
    with pytest.raises(InputError, match=rf"{split}\.json:4: '0-3'.* {split} "):
        CorpusSource.open(Config(small_config("biatt")), folder)


def test_models_of_pixels_see_the_pictures_of_the_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(models.MODELS, "pixel", PixelModel)
    config = Config(PixelConfig(), DataConfig(minimum_count=1))
    examples = yellow_circle_examples(8)
    folder = write_corpus(tmp_path, examples, examples[:4])
    rendered = CorpusSource.open(config, folder)
    images = folder / "train" / "images"
    render_examples(WORLD, examples, images, split="train", kind="png", count=1, progress=lambda done, total: None)
    assert CorpusSource.open(config, folder).fingerprint == rendered.fingerprint
    first = images / "0" / f"train-{examples[0].identifier}-0.png"
    first.write_bytes(to_png(picture.read(first) // 2))
    changed = CorpusSource.open(config, folder)
    assert changed.fingerprint != rendered.fingerprint
    assert changed.train.pixels is not None and rendered.train.pixels is not None
    assert torch.equal(changed.train.pixels[0], rendered.train.pixels[0] // 2)
    assert torch.equal(changed.train.pixels[1:], rendered.train.pixels[1:])
    first.unlink()
    with pytest.raises(InputError, match=r"\b1 .*'0-0'") as caught:
        CorpusSource.open(config, folder)
    assert caught.value.where == images
    biatt = Config(small_config("biatt"), DataConfig(minimum_count=1))
    assert CorpusSource.open(biatt, folder).train.pixels is None  # models of items need no pictures


@pytest.mark.parametrize("supervision", ["labels", "synthetic"])
def test_supervision_is_that_of_the_corpus_folder(supervision: str, tmp_path: Path) -> None:
    if supervision == "synthetic":
        synthetic.write(tmp_path / "corpus", synthetic.build(20, seed=1, level="simple"))
    else:
        write_corpus(tmp_path / "corpus", yellow_circle_examples(32), yellow_circle_examples(8, seed=1))
    config = replace(load_preset("bienc", ["training.epochs=1", "data.minimum_count=1"]), model=small_config("bienc"))
    folder = tmp_path / "run"
    train(Spec(config, corpus=tmp_path / "corpus"), folder)
    record = Record.read(folder)
    assert record.supervision == supervision and record.spec.corpus == tmp_path / "corpus"
    assert checkpoints.load(folder).metrics["supervision"] == supervision


class ToyTeacher(Source):
    """Makes new examples each epoch, as many and as long as in the first."""

    def __init__(self, config: Config) -> None:
        first = yellow_circle_examples(64, seed=0)
        corpus = CorpusSource(Given(config, WORLD, first, yellow_circle_examples(16, seed=99), "labels"))
        self.encoder, self.dev, self.train = corpus.encoder, corpus.dev, corpus.train
        self.supervision, self.coverage, self.settings = "programs", 1.0, config.training
        self.made: list[int] = []

    @property
    def fingerprint(self) -> int:
        return 7

    @property
    def steps_per_epoch(self) -> int:
        return 64 // self.settings.batch

    def epoch(self, number: int) -> Epoch:
        self.made.append(number)
        corpus = self.encoder(yellow_circle_examples(64, seed=number)).to(self.train.device)
        return Epoch(corpus, list(torch.arange(64).split(self.settings.batch)), lambda numbers: [])


def test_a_teacher_that_makes_new_examples_each_epoch_is_trained_on_and_resumed_like_a_corpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    training = TrainingConfig(batch=16, epochs=4, patience=99)
    config = Config(small_config("biatt-pointer"), DataConfig(minimum_count=1), training)

    def fit(folder: Path, *, stop_at: int | None, resume: bool = False) -> list[int]:
        teacher = ToyTeacher(config)
        monkeypatch.setattr("veriscene.training.train.open_source", lambda *given: teacher)
        corpus = write_corpus(tmp_path / "corpus", yellow_circle_examples(4), yellow_circle_examples(4))
        train(Spec(config, corpus=corpus), folder, resume=resume, stop_after=lambda line: line.step == stop_at)
        return teacher.made

    whole, halves = tmp_path / "whole", tmp_path / "halves"
    assert fit(whole, stop_at=None) == [0, 1, 2, 3]
    assert checkpoints.load(whole).metrics["supervision"] == "programs"
    fit(halves, stop_at=8)
    state = halves / "last" / "trainer.pt"
    saved = torch.load(state, weights_only=True)
    saved["position"]["finished"] = False  # as if it had been interrupted there
    torch.save(saved, state)
    assert fit(halves, stop_at=None, resume=True) == [2, 3]
    one, other = (checkpoints.load(folder / "last").model.state_dict() for folder in (whole, halves))
    assert all(torch.equal(one[name], other[name]) for name in one)
