"""A model of a world that is not the default one."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

import veriscene
from veriscene.judge.judge import Judge

SHELF = Path(__file__).parents[2] / "examples" / "shelf"
SIZES = {f"model.{name}": 8 for name in ("embedding", "hidden", "item", "joint", "mlp")}


@pytest.fixture(scope="session")
def shelf_judge(tmp_path_factory: pytest.TempPathFactory) -> Judge:
    """A small model that was trained on the guide's shelves, for one epoch."""
    folder = tmp_path_factory.mktemp("shelf")
    runpy.run_path(str(SHELF / "make_corpus.py"))["main"](folder / "corpus", 30)
    changes = {**SIZES, "training.epochs": 1, "data.minimum_count": 1}
    return veriscene.train("quick", data=folder / "corpus", changes=changes, folder=folder / "run").judge()
