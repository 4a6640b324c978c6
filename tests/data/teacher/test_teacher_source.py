"""What a teacher makes: true labels, balanced, new in each epoch, and as the encoder would encode it."""

from __future__ import annotations

import json
import os
import random
import re
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from teacher_toys import GRAMMAR, ONE_SIDED, STATEMENTS, config, corpus, examples, programs, teacher

from some_worlds import ODD, SHELF, scenes_of
from veriscene import worlds
from veriscene.config import TeacherConfig
from veriscene.data.batch import Batch
from veriscene.data.encoder import ItemOrder
from veriscene.data.teacher import statements
from veriscene.data.teacher.maker import Made, Maker
from veriscene.data.teacher.statements import draw_statements
from veriscene.errors import InputError
from veriscene.language.language import Language
from veriscene.language.program import Statement
from veriscene.models import load_preset
from veriscene.training.source import TeacherSource
from veriscene.training.spec import Spec
from veriscene.training.train import open_source
from veriscene.world.examples import Example, write
from veriscene.world.scene import Item, Scene
from veriscene.world.schema import World
from veriscene.world.world_file import to_toml
from veriscene.worlds import parse
from veriscene.worlds.nlvr import grammar
from veriscene.worlds.nlvr.looks import WORLD


def everything(source: TeacherSource, epoch: int) -> Made:
    return Made.joined([source.maker.make(epoch, block) for block in range(source.maker.blocks)])


def is_towers(scene: Scene) -> bool:
    return all(map(WORLD.is_tower, scene.boxes))


def same(one: Batch, other: Batch) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one.tensors(), other.tensors(), strict=True))


def test_labels_are_the_values_of_the_programs_and_scenes_are_valid_and_of_their_kind(tmp_path: Path) -> None:
    source = teacher(tmp_path, GRAMMAR)
    made = everything(source, 3)
    assert len(made.labels) == source.examples_per_epoch == 6 * 12 + 5 * 6
    for number, label, scene in zip(made.statements, made.labels, made.scenes.scenes(), strict=True):
        statement = source.statements[number]
        assert statement.program.holds(scene) == label
        assert WORLD.parse(WORLD.to_json_scene(scene)) == scene
        assert statement.kind is None or (statement.kind == "tower") == is_towers(scene)


def test_counting_examples_is_refused_because_a_teacher_makes_any_number_of_them(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        teacher(tmp_path, "data.counting=examples")
    assert "data.counting=statements" in str(error.value)


def test_half_of_each_statements_examples_are_true_unless_only_one_truth_value_is_found(tmp_path: Path) -> None:
    source = teacher(tmp_path)
    made = everything(source, 0)
    assert sorted(made.one_sided) == list(ONE_SIDED)
    trues = [int(made.labels[made.statements == number].sum()) for number in range(len(STATEMENTS))]
    assert trues == [6, 6, 6, 6, 12, 0]
    kinds = {is_towers(scene) for n, scene in zip(made.statements, made.scenes.scenes(), strict=True) if n == 2}
    assert kinds == {True, False}, "a statement without a kind is about both"
    assert made.near_misses > 0


def test_the_shares_of_near_misses_and_of_generated_scenes_can_be_set(tmp_path: Path) -> None:
    def content(scene: Scene) -> tuple[frozenset[Item], ...]:
        return tuple(frozenset(box.items) for box in scene.boxes)

    known = {content(example.scene) for example in examples(80, seed=1)}

    def share_of_corpus(near_misses: float, generated: float) -> float:
        changes = f"teacher.near_misses={near_misses}", f"teacher.generated={generated}", "teacher.scenes=40"
        made = everything(teacher(tmp_path, *changes), 0)
        assert bool(made.near_misses) is bool(near_misses)
        scenes = zip(made.statements, made.scenes.scenes(), strict=True)
        return float(np.mean([content(scene) in known for number, scene in scenes if number not in ONE_SIDED]))

    assert share_of_corpus(near_misses=0.0, generated=0.0) == 1
    assert share_of_corpus(near_misses=0.0, generated=1.0) == 0
    assert 0.3 < share_of_corpus(near_misses=0.0, generated=0.5) < 0.7
    assert share_of_corpus(near_misses=1.0, generated=0.0) <= 0.6, "one scene of each pair is edited"


@pytest.mark.parametrize("order", ["file", "sorted", "random"])
def test_tensors_are_those_that_the_encoder_makes_of_the_same_examples(order: str, tmp_path: Path) -> None:
    source = teacher(tmp_path, GRAMMAR, f"data.order={order}")
    made = everything(source, 1)
    texts = [each.text for each in source.statements]

    found = source._encode(made, torch.device("cpu"), torch.Generator().manual_seed(1))
    given = [
        Example("0-0", texts[statement], scene, bool(label))
        for statement, scene, label in zip(made.statements, made.scenes.scenes(), made.labels, strict=True)
    ]
    expected = replace(source.encoder, order=ItemOrder.FILE if order == "random" else source.encoder.order)(given)
    assert found.items is not None and expected.items is not None
    if order == "random":
        order_of = found.items.positions[:, :, : expected.items.features.size(2)]
        assert not torch.equal(order_of, expected.items.positions), "items are shuffled"
        expected = replace(expected, items=expected.items.reordered(order_of))
    words, items = expected.statement.words.size(1), expected.items.features.size(2)
    assert same(found.select(slice(None), words=words, items=items), expected)
    assert not found.items.features[:, :, items:].any()


def test_an_epoch_follows_from_seed_and_number_whatever_the_number_of_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    epochs = {}
    for workers in (1, 3):
        monkeypatch.setenv("VERISCENE_CACHE", str(tmp_path / f"cache{workers}"))  # each makes its own
        with closing(teacher(tmp_path / str(workers), GRAMMAR, f"teacher.workers={workers}")) as source:
            epochs[workers] = [source.epoch(number) for number in (0, 1, 4)]
            assert same(source.epoch(4).corpus, epochs[workers][2].corpus), "also if it is asked for again"
    for one, other in zip(epochs[1], epochs[3], strict=True):
        assert same(one.corpus, other.corpus)
        assert all(torch.equal(a, b) for a, b in zip(one.steps, other.steps, strict=True))
    first, second, _ = epochs[1]
    assert not same(first.corpus, second.corpus), "examples are new in each epoch"
    shapes = [[tensor.shape for tensor in epoch.corpus.tensors()] for epoch in epochs[1]]
    assert shapes[0] == shapes[1] == shapes[2]
    assert len(first.steps) == len(second.steps) == source.steps_per_epoch
    assert sorted(torch.cat(first.steps).tolist()) == list(range(source.examples_per_epoch))
    with closing(teacher(tmp_path / "other", GRAMMAR, "teacher.seed=2")) as source:
        assert not same(source.epoch(0).corpus, first.corpus)


def test_supervision_and_fingerprint_are_those_of_what_is_taught(tmp_path: Path) -> None:
    changes = [[], [GRAMMAR], ["teacher.near_misses=0.5"], [GRAMMAR, "teacher.seed=2"]]
    found = [teacher(tmp_path, *some).fingerprint for some in changes]
    assert len(set(found)) == len(found)
    assert teacher(tmp_path, "teacher.workers=1").fingerprint == found[0]
    assert teacher(tmp_path).supervision == "programs"
    assert teacher(tmp_path, GRAMMAR, with_programs=False).supervision == "synthetic"


def test_models_that_are_fitted_get_a_whole_epoch(tmp_path: Path) -> None:
    settings = load_preset("maxent", ["data.minimum_count=1", "teacher.scenes=12", "teacher.workers=1"])
    files = [programs(tmp_path / "programs.jsonl")]
    with closing(TeacherSource.open(settings, corpus(tmp_path / "corpus"), files)) as source:
        assert len(source.train) == source.examples_per_epoch


def test_models_of_pixels_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cnn-rnn"):
        TeacherSource.open(load_preset("cnn-rnn"), corpus(tmp_path), [programs(tmp_path / "programs.jsonl")])


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ('{"program": "exist(all_items)"}', "sentence "),
        ('{"sentence": "A box"}', "program "),
        ('{"sentence": "a", "statement": "b", "program": "1 == 1"}', ".*sentence and statement"),
        ('{"sentence": "A box", "program": "exit()"}', "program: .*exit"),
        ('{"sentence": "A box", "program": 7}', "program: 7"),
        ('{"sentence": "...", "program": "1 == 1"}', r"sentence: '\.\.\.'"),
        ("[]", ".*array"),
    ],
)
def test_a_wrong_line_is_named_with_what_is_allowed(line: str, named: str, tmp_path: Path) -> None:
    path = programs(tmp_path / "programs.jsonl")
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(InputError, match=rf"^{path}:{len(STATEMENTS) + 1}: {named}") as error:
        TeacherSource.open(config(), corpus(tmp_path / "corpus"), [path])
    assert "\n" not in str(error.value)


def test_an_unknown_kind_of_scenes_is_refused(tmp_path: Path) -> None:
    path = programs(tmp_path / "programs.jsonl")
    path.write_text(path.read_text() + '{"statement": "A box", "program": "1 == 1", "kind": "castle"}\n')
    with pytest.raises(InputError) as error:
        TeacherSource.open(config(), corpus(tmp_path / "corpus"), [path])
    assert error.value.where == f"{path}:{len(STATEMENTS) + 1}: kind"
    assert "castle" in error.value.what and "tower, scatter" in error.value.allowed


@pytest.mark.parametrize("world", [SHELF, ODD], ids=lambda world: world.name)
def test_any_world_is_taught_with_programs_and_random_scenes(world: World, tmp_path: Path) -> None:
    train = [Example(f"{n}-0", "Something", scene, n % 2 == 0) for n, scene in enumerate(scenes_of(world, 20))]
    for split in ("train", "dev"):
        write(tmp_path / split / f"{split}.json", train, world)
    (tmp_path / worlds.FILE).write_text(to_toml(world), encoding="utf-8")
    lines = {"There are two items.": "count(all_items) == 2", "There is nothing.": "not exist(all_items)"}
    file = tmp_path / "programs.jsonl"
    file.write_text("".join(json.dumps({"statement": s, "program": p}) + "\n" for s, p in lines.items()))
    with closing(TeacherSource.open(config("training.epochs=1", "teacher.workers=1"), tmp_path, [file])) as source:
        assert source.encoder.world == world
        made, corpus = everything(source, 0), source.epoch(0).corpus
    scenes = made.scenes.scenes()
    assert made.near_misses and len(corpus.statement.lengths) == len(scenes) == 24
    for number, label, scene in zip(made.statements, made.labels, scenes, strict=True):
        assert source.statements[number].program.holds(scene) == label
        assert world.parse(world.to_json_scene(scene)) == scene
    given = [Example("0-0", source.statements[n].text, scene) for n, scene in zip(made.statements, scenes, strict=True)]
    expected = replace(source.encoder, order=ItemOrder.FILE)(given).items
    assert corpus.items is not None and expected is not None
    assert torch.equal(corpus.items.counts, expected.counts)
    with closing(TeacherSource.open(config("teacher.statements=5"), tmp_path, [file])) as source:
        assert len(source.statements) == 7 and source.supervision == "programs"


@pytest.mark.parametrize(("name", "value", "rounds"), [("MAX_ROUNDS", 1, 1), ("MIN_NEW_SHARE", 1.0, 3)])
def test_more_statements_than_the_grammar_has_are_refused_as_soon_as_hardly_any_are_new(
    name: str, value: float, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statements, name, value)
    monkeypatch.setattr(statements, "STATEMENTS_PER_BLOCK", 25)
    monkeypatch.setattr(grammar, "draw", partial(draw_one_of, [f"There are {n} towers." for n in range(1, 4)]))
    seen: list[int] = []
    with pytest.raises(InputError) as error:
        settings = TeacherConfig(statements=20, level="simple")
        draw_statements(WORLD, settings, 1, lambda done, total: seen.append(done))
    assert len(seen) == rounds and error.value.where == "teacher.statements"


def draw_one_of(texts: list[str], rng: random.Random, _level: str) -> Statement:
    return Statement(rng.choice(texts), "tower", parse("exist(all_boxes)"))


def test_an_error_of_a_program_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_costly(*_: object) -> None:
        raise InputError("too costly")

    monkeypatch.setattr(Maker, "_pool_truths", too_costly)
    with pytest.raises(InputError, match=r"^program '.*\(.*: too costly$"):
        teacher(tmp_path)


def test_statements_with_several_programs_are_remarked_upon(tmp_path: Path) -> None:
    path, again = programs(tmp_path / "own.jsonl"), {**STATEMENTS[0], "program": STATEMENTS[1]["program"]}
    path.write_text(path.read_text() + json.dumps(again | {"sentence": STATEMENTS[0]["sentence"].upper()}))
    with closing(TeacherSource.open(config("training.epochs=1"), corpus(tmp_path / "corpus"), [path])) as source:
        assert not source.remark
        source.epoch(0)
    assert re.search(rf"of {len(STATEMENTS) + 1} statements, .*with several programs: 1, as '", source.remark)


def test_files_are_checked_before_anything_is_done_with_them(tmp_path: Path) -> None:
    own = programs(tmp_path / "own.jsonl")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "bad.jsonl").write_text('{"sentence": "A box"}\n')
    (tmp_path / "again.jsonl").symlink_to(own)
    statements.check_files([own], WORLD)
    for name, line in {"pipe": "", "missing": "", "bad.jsonl": ":1", "again.jsonl": ""}.items():
        with pytest.raises(InputError) as caught:
            statements.check_files([own, tmp_path / name], WORLD)
        assert str(caught.value.where) == f"{tmp_path / name}{line}"


def test_a_program_is_parsed_once_for_a_spec_and_all_its_seeds_until_its_file_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed, parse = list[str](), Language.parse
    monkeypatch.setattr(Language, "parse", lambda self, text: parsed.append(text) or parse(self, text))
    path = programs(tmp_path / "own.jsonl")
    spec = replace(Spec.of("biatt", data=corpus(tmp_path / "corpus"), programs=[path]), config=config())
    for seed in (1, 2):
        open_source(spec.for_seed(seed), spec.corpus).close()
    assert parsed == [line["program"] for line in STATEMENTS]
    path.write_text(json.dumps(STATEMENTS[1]))
    statements.check_files([path], WORLD)
    assert parsed[len(STATEMENTS) :] == [STATEMENTS[1]["program"]]


def test_grammar_statements_differ_and_follow_from_their_seed() -> None:
    def draw(seed: int, workers: int) -> list[str]:
        settings = TeacherConfig(statements=260, seed=seed)
        return [each.text for each in draw_statements(WORLD, settings, workers, lambda done, total: None)]

    assert draw(1, workers=1) == draw(1, workers=2) != draw(2, workers=2)
    assert len(set(draw(1, workers=1))) == 260


def test_statements_get_new_typing_errors_in_each_epoch(tmp_path: Path) -> None:
    with closing(teacher(tmp_path, "data.typing_noise=0.4", "training.epochs=9")) as source:
        epochs = [source.epoch(number).corpus.statement.words for number in range(2)]
    unchanged = source._encode(everything(source, 0), torch.device("cpu"), torch.Generator()).statement.words
    changed = [float((words == 1).float().mean()) for words in (unchanged, *epochs)]
    assert changed[0] == 0 and min(changed[1:]) > 0.05
    assert not torch.equal(*epochs)


def test_the_grammar_does_not_teach_another_meaning_of_a_known_statement() -> None:
    settings = TeacherConfig(statements=20, workers=1)
    first = draw_statements(WORLD, settings, 1, lambda done, total: None)
    known = [replace(first[0], text=first[0].text.upper()), replace(first[1], text=first[1].text.rstrip("."))]
    later = draw_statements(WORLD, settings, 1, lambda done, total: None, known=known)
    assert [each.text for each in later[:18]] == [each.text for each in first[2:]]


def test_scenes_with_few_items_share_batches(tmp_path: Path) -> None:
    with closing(teacher(tmp_path, "teacher.scenes=64", "training.batch=16", "training.window=100")) as source:
        epoch = source.epoch(0)
    assert epoch.corpus.items is not None
    is_full = epoch.corpus.items.counts.amax(dim=1) > 4
    assert is_full.any() and not is_full.all()
    assert sum(len(set(is_full[step].tolist())) > 1 for step in epoch.steps) <= 1
    assert sorted(torch.cat(epoch.steps).tolist()) == list(range(source.examples_per_epoch))
