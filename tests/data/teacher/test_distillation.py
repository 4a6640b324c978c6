"""Trained models as teachers of another one."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from teacher_toys import GRAMMAR, config, teacher
from torch.testing import assert_close

from samples import small_config
from veriscene import models
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.judge.checkpoint import Checkpoint


def test_half_of_a_distilled_label_is_the_mean_of_the_models(tmp_path: Path) -> None:
    plain_source = teacher(tmp_path, "training.epochs=1")
    folder = tmp_path / "seeds"
    for seed in (1, 2):
        torch.manual_seed(seed)
        model = models.build(config().model, vocabulary=plain_source.encoder.vocabulary)
        metrics = {"supervision": "programs"}
        checkpoints.save(folder / f"seed{seed}" / "best", Checkpoint(model, config(), plain_source.encoder, metrics))
    (folder / "seeds.json").write_text('{"seeds": [1, 2]}')
    with closing(teacher(tmp_path, f"teacher.distil={folder}", "training.epochs=1")) as source, closing(plain_source):
        soft, hard = source.epoch(0).corpus, plain_source.epoch(0).corpus
        assert source.fingerprint != plain_source.fingerprint and source.store.folder == plain_source.store.folder
    assert soft.labels is not None and hard.labels is not None
    judged = [each.model.eval()(hard).logits.sigmoid() for each in map(checkpoints.load, folder.glob("seed*/best"))]
    assert_close(soft.labels, hard.labels / 2 + torch.stack(judged).mean(dim=0).detach() / 2)
    before = source.fingerprint
    (folder / "seed2").rename(tmp_path / "seed2")
    with pytest.raises(InputError, match="seeds: seed2 is not trained yet; train all seeds first"):
        teacher(tmp_path, f"teacher.distil={folder}")
    (folder / "seeds.json").write_text('{"seeds": [1]}')
    with pytest.raises(InputError, match=r"order random, and here they come sorted; set data\.order=random"):
        teacher(tmp_path, f"teacher.distil={folder}", "data.order=sorted")
    assert teacher(tmp_path, f"teacher.distil={folder}").fingerprint != before, "a run is not resumed with other models"
    with pytest.raises(InputError, match=r"seeds: was trained with another vocabulary; distil models of"):
        teacher(tmp_path, GRAMMAR, f"teacher.distil={folder}")


def test_a_distilled_model_has_the_supervision_of_its_teachers_and_must_read_what_it_reads(tmp_path: Path) -> None:
    grammar = teacher(tmp_path, GRAMMAR, with_programs=False)
    for name in ("biatt", "spatial"):
        settings = replace(config(), model=small_config(name))
        model = models.build(settings.model, vocabulary=grammar.encoder.vocabulary)
        encoder = models.encoder(settings, grammar.encoder.vocabulary)
        checkpoints.save(tmp_path / name, Checkpoint(model, settings, encoder, {"supervision": "programs"}))
    taught = teacher(tmp_path, GRAMMAR, f"teacher.distil={tmp_path / 'biatt'}", with_programs=False)
    assert grammar.supervision == "synthetic" and taught.supervision == "programs"
    with pytest.raises(InputError, match="a spatial does not read what a biatt reads; distil models of the same"):
        teacher(tmp_path, GRAMMAR, f"teacher.distil={tmp_path / 'spatial'}", with_programs=False)
