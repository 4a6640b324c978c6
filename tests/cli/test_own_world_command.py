"""From a world file to a judge: `veriscene train --world`, without a corpus, and what can be done with the run."""

from __future__ import annotations

import json
import random
import shlex
import shutil
from pathlib import Path

import pytest
from shell import settings, veriscene

from samples import write_corpus, yellow_circle_examples
from scripts import script
from some_worlds import SHELF
from veriscene import worlds
from veriscene.cli.serve import world_of_data
from veriscene.judge import load
from veriscene.training.spec import CORPUS, DEV, Record
from veriscene.world.random_scenes import random_scene
from veriscene.world.world_file import to_toml

SHELF_FILE = Path(__file__).resolve().parents[2] / "examples" / "shelf" / "shelf.toml"
SMALL = settings(
    *("model.embedding=4", "model.hidden=4", "model.joint=8", "model.mlp=4", "model.layers=1", "training.batch=32"),
    *("training.epochs=2", "training.evaluate_every=0", "training.threads=1", "data.minimum_count=1"),
    *("teacher.statements=24", "teacher.grammar_scenes=4", "teacher.workers=1"),
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with shelf.toml and a run for it."""
    folder = tmp_path_factory.mktemp("own")
    shutil.copy(SHELF_FILE, folder)
    done = veriscene("train", "spatial-small", "--world", "shelf.toml", "--out", "run", *SMALL, cwd=folder)
    assert done.returncode == 0, done.stderr
    (folder / "shown.txt").write_text(done.stderr)
    return folder


def test_a_world_file_is_enough_and_its_lessons_are_shown(place: Path) -> None:
    record = Record.read(place / "run")
    assert record.spec.world == SHELF and record.spec.corpus is None and record.supervision == "synthetic"
    assert not (place / "run" / CORPUS).exists()
    assert sum(line.startswith('  "') for line in (place / "shown.txt").read_text().splitlines()) == 5


def test_a_new_world_can_be_shown_whatever_its_file_is_called(tmp_path: Path) -> None:
    for name in (f"{'long' * 15}.toml", f"{7 * '12345'}.toml", "a shelf's.toml"):
        made = veriscene("world", "new", name, cwd=tmp_path)
        command = shlex.split(made.stdout.partition("look at it with: veriscene ")[2])
        shown = veriscene(*command, cwd=tmp_path)
        assert shown.returncode == 0, shown.stderr


def test_a_lone_scene_is_drawn_with_the_world_that_is_named(tmp_path: Path) -> None:
    scene = SHELF.to_json_scene(random_scene(SHELF, random.Random(1)))
    (tmp_path / "scene.json").write_text(json.dumps(scene))
    done = veriscene("data", "render", "scene.json", "scene.svg", "--world", str(SHELF_FILE), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "scene.svg").read_text().startswith("<svg")


def test_the_run_is_evaluated_exported_and_reported_as_any_other(place: Path) -> None:
    dev = worlds.read(place / "run" / DEV, SHELF)
    for model in ("run", "run.onnx"):
        if model == "run.onnx":
            assert veriscene("export", "run", model, cwd=place).returncode == 0
        evaluated = veriscene("evaluate", model, f"run/{DEV}", "--json", cwd=place)
        assert evaluated.returncode == 0, evaluated.stderr
        assert json.loads(evaluated.stdout)["examples"] == len(dev) == 96
    assert veriscene("report", "run", cwd=place).returncode == 0


def test_the_page_reads_examples_as_of_a_world_that_is_served(place: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus/dev/dev.json"
    corpus.parent.mkdir(parents=True)
    alone = Path(shutil.copy(place / "run" / DEV, tmp_path))
    shutil.copy(alone, corpus)
    (tmp_path / "corpus/world.toml").write_text(to_toml(SHELF))
    shelf, nlvr = load(place / "run"), load("best")
    assert worlds.of_corpus(alone) == nlvr.world, "nothing says what it is about"
    assert world_of_data(alone, {"run": shelf}) == world_of_data(corpus, {"best": nlvr, "run": shelf}) == SHELF
    assert world_of_data(corpus, {"best": nlvr}) == nlvr.world
    refused = veriscene("serve", "best", "--port", "0", "--data", str(corpus), cwd=place)
    assert refused.returncode == 1 and "the world shelf" in refused.stderr


def test_seeds_are_scored_on_their_own_dev(place: Path) -> None:
    options = ("--seeds", "2", "--out", "seeds", *SMALL)
    done = veriscene("train", "spatial-small", "--world", "shelf.toml", *options, cwd=place)
    assert done.returncode == 0, done.stderr
    files = [(place / "seeds" / f"seed{seed}" / DEV).read_bytes() for seed in (1, 2)]
    assert files[0] == files[1] == (place / "run" / DEV).read_bytes()


def test_the_benchmark_leaves_out_what_was_taught_and_names_kinds_of_error(place: Path) -> None:
    own_world = script("own_world")
    known = own_world.taught_texts(place / "run")
    assert len(known) == 24
    drawn = own_world.draw_kinds(SHELF, 30, scenes=2, seed=1, known=known)
    text = next(iter(drawn))
    others = own_world.draw_kinds(SHELF, 30, scenes=2, seed=1, known={own_world.normalized(text)})
    assert text not in others and len(drawn) == len(others) == 30
    own_world.main(
        [str(SHELF_FILE), str(place / "run"), "--statements", "20", "--scenes", "2", "--json", str(place / "o.json")]
    )
    found = json.loads((place / "o.json").read_text())
    assert found["examples"] == 40 and 0 <= found["accuracy"] <= 1
    assert all(0 <= share <= 1 and count > 0 for share, count in found["kinds"].values())


@pytest.mark.parametrize(
    "arguments",
    [
        ("quick", "--world", "shelf.toml"),  # has no teacher, so it needs a corpus
        ("spatial-small", "--world", "shelf.toml", "--data", "other"),
        ("spatial-small", "--world", "none.toml"),
        ("spatial-small", "--world", "shelf.toml", *settings("teacher.generated=0.5")),
        ("spatial-small", "--world", "shelf.toml", *settings("data.statements=50")),
        ("nmn", "--world", "shelf.toml", *settings("teacher.statements=10")),
    ],
    ids=str,
)
def test_what_does_not_go_together_is_one_line_and_leaves_nothing_behind(
    place: Path, arguments: tuple[str, ...]
) -> None:
    if not (place / "other").exists():
        write_corpus(place / "other", yellow_circle_examples(8), yellow_circle_examples(4))
        text = SHELF_FILE.read_text().replace('name = "shelf"', 'name = "rack"')
        (place / "other" / worlds.FILE).write_text(text)
    refused = veriscene("train", *arguments, "--out", "refused", cwd=place)
    assert refused.returncode == 1
    assert refused.stderr.strip().splitlines()[-1].startswith("veriscene: ")
    assert "Traceback" not in refused.stderr and not (place / "refused").exists()
