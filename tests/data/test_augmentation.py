"""Word dropout replaces words by UNK, and nothing else."""

from dataclasses import replace

import pytest
import torch

from samples import vocabulary_of, yellow_circle_examples
from veriscene.data.batch import Batch
from veriscene.data.encoder import Encoder
from veriscene.data.spelling import drop_words
from veriscene.data.vocabulary import UNKNOWN
from veriscene.worlds.nlvr.looks import WORLD

EXAMPLES = yellow_circle_examples(300)
CORPUS = Encoder(vocabulary_of(EXAMPLES), WORLD)(EXAMPLES)


def dropped(share: float, seed: int = 0) -> Batch:
    return drop_words(CORPUS, share, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("share", [0.0, 0.2, 0.9])
def test_about_that_share_of_the_words_becomes_unknown(share):
    batch = dropped(share)
    lost = batch.statement.words != CORPUS.statement.words
    assert (batch.statement.words[lost] == UNKNOWN).all()
    assert not lost[~CORPUS.statement.mask].any()
    assert lost[CORPUS.statement.mask].float().mean() == pytest.approx(share, abs=0.05)
    assert replace(batch, statement=CORPUS.statement).fingerprint() == CORPUS.fingerprint()


def test_the_generator_alone_decides():
    assert dropped(0.2, seed=3).fingerprint() == dropped(0.2, seed=3).fingerprint()
    assert dropped(0.2, seed=3).fingerprint() != dropped(0.2, seed=4).fingerprint()
