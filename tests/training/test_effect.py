"""A setting is accepted exactly where it makes a difference."""

from __future__ import annotations

from pathlib import Path

import pytest

from samples import write_corpus, yellow_circle_examples
from veriscene.config import load_preset
from veriscene.errors import InputError
from veriscene.experiments.tuning.study import plan_search
from veriscene.training.effect import check_changes, with_effect

MATTERS = {
    "maxent": ["model.penalty=3", "data.minimum_count=2", "training.seed=2"],
    "mlp": ["model.dropout=0.1", "training.epochs=2", "data.recolor=true"],
    "relation-net": ["model.joint=8", "training.batch=8"],
    "bienc": ["data.order=file", "training.agreement=1"],
    "biatt": ["data.order=sorted", "model.pooling=mean"],
    "biatt-pointer": ["training.policy_weight=0.1", "data.order=file"],
}
DOES_NOT = {
    "maxent": ["training.epochs=3", "data.order=file", "data.jitter=1", "training.minutes=2", "model.hidden=256"],
    "mlp": ["data.order=file", "training.policy_weight=0.1", "model.pooling=max"],
    "relation-net": ["data.order=file"],
    "bienc": ["model.joint=512", "training.policy_weight=1"],  # also where it is what it was
    "biatt": ["training.policy_weight=1", "model.penalty=2"],
    "biatt-pointer": ["model.penalty=2"],
}


@pytest.mark.parametrize("preset", MATTERS)
def test_what_matters_passes_and_what_does_not_is_named(preset: str) -> None:
    model = load_preset(preset).model
    check_changes(MATTERS[preset], model, corpus_given=True)
    for change in DOES_NOT[preset]:
        with pytest.raises(InputError, match=f"{change.partition('=')[0]} has no effect on {preset}$"):
            check_changes([*MATTERS[preset], change], model, corpus_given=True)
    both = [*DOES_NOT[preset], *MATTERS[preset]]
    assert with_effect(both, model, corpus_given=True) == MATTERS[preset]


@pytest.mark.parametrize("change", ["data.statements=20", "data.level=simple", "data.corpus_seed=2"])
def test_how_our_own_corpus_is_made_matters_where_none_is_given(change: str) -> None:
    for preset in ("maxent", "biatt"):
        check_changes([change], load_preset(preset).model, corpus_given=False)
        with pytest.raises(InputError, match="no effect on a corpus that --data names"):
            check_changes([change], load_preset(preset).model, corpus_given=True)


def test_the_command_that_a_search_prints_is_one_that_train_takes(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path, yellow_circle_examples(8), yellow_circle_examples(4, seed=1))
    changes = ["training.minutes=3.0", "training.seed=2"]
    fitted = plan_search("maxent", data=corpus, changes=changes, space=["model.penalty=1:9.0"])
    stepped = plan_search("mlp", data=corpus, changes=changes, space=["model.dropout=0:0.5"])
    assert fitted.command({"model.penalty": 2.0}).endswith("--set training.seed=2 --set model.penalty=2.0")
    assert stepped.command({"model.dropout": 0.1}).endswith(
        "--set training.minutes=3.0 --set training.seed=2 --set model.dropout=0.1"
    )
