"""A setting is accepted exactly where it has an effect."""

from __future__ import annotations

from pathlib import Path

import pytest

from veriscene.errors import InputError
from veriscene.models import load_preset
from veriscene.models.settings import check_changes, listed, reference, with_effect

EFFECTIVE = {
    "maxent": ["model.penalty=3", "data.minimum_count=2", "data.counting=examples", "training.seed=2"],
    "mlp": ["model.mlp=8", "training.epochs=2", "data.word_dropout=0.1"],
    "relation-net": ["model.joint=8", "training.batch=8"],
    "bienc": ["data.order=file", "training.r_drop=1"],
    "biatt": ["data.order=sorted", "model.pooling=mean"],
    "biatt-pointer": ["training.policy_weight=0.1", "data.order=file"],
}
INEFFECTIVE = {
    "maxent": ["training.epochs=3", "data.order=file", "data.word_dropout=0.1", "training.minutes=2"],
    "mlp": ["data.order=file", "training.policy_weight=0.1"],
    "relation-net": ["data.order=file"],
    "bienc": ["training.policy_weight=1"],  # even if it is the default
    "biatt": ["training.policy_weight=1", "model.penalty=2"],
    "biatt-pointer": ["model.penalty=2"],
}


@pytest.mark.parametrize("preset", EFFECTIVE)
def test_a_setting_without_effect_is_an_error_that_names_it(preset: str) -> None:
    model = load_preset(preset).model
    check_changes(EFFECTIVE[preset], model, corpus_given=True)
    for change in INEFFECTIVE[preset]:
        with pytest.raises(InputError) as error:
            check_changes([*EFFECTIVE[preset], change], model, corpus_given=True)
        assert error.value.where == f"--set {change.partition('=')[0]}"
    both = [*INEFFECTIVE[preset], *EFFECTIVE[preset]]
    assert with_effect(both, model, corpus_given=True) == EFFECTIVE[preset]


@pytest.mark.parametrize("change", ["data.statements=20", "data.level=simple", "data.corpus_seed=2"])
def test_settings_of_the_synthetic_corpus_have_an_effect_only_without_data(change: str) -> None:
    for preset in ("maxent", "biatt"):
        check_changes([change], load_preset(preset).model, corpus_given=False)
        with pytest.raises(InputError):
            check_changes([change], load_preset(preset).model, corpus_given=True)


def test_every_setting_is_listed_with_its_value_range_and_meaning() -> None:
    rows = {row.key: row for row in listed(load_preset("biatt-pointer", {"training.epochs": 3}))}
    assert rows["training.epochs"].value == "3" and rows["training.epochs"].allowed == "from 1 to 1,000,000"
    lacking = [row.key for row in rows.values() if not row.meaning]
    assert not lacking


def test_docs_settings_is_what_the_command_prints() -> None:
    written = Path(__file__).resolve().parents[2] / "docs" / "settings.md"
    assert written.read_text(encoding="utf-8") == reference(), "veriscene settings --markdown > docs/settings.md"
