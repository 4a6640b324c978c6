"""Typing errors: what an encoder makes of a misspelt text, one error a word, and nothing else changes. Word dropout."""

import difflib
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_corpora import QUICK, assert_same

from samples import vocabulary_of, yellow_circle_examples
from veriscene.data.batch import Batch
from veriscene.data.encoder import Encoder, Input
from veriscene.data.spelling import KEYBOARD, drop_words, mistype_words
from veriscene.data.vocabulary import MOST_LETTERS, UNKNOWN, Vocabulary, spell, tokenize
from veriscene.worlds.nlvr.looks import WORLD

ITEMS, LETTERS = Input.ITEMS, Input.CHARACTERS
SCENES = yellow_circle_examples(300)
VOCABULARY = vocabulary_of(SCENES)
CORPUS = Encoder(VOCABULARY, WORLD, frozenset({ITEMS, LETTERS}))(SCENES)


def mistyped(share: float, seed: int = 0, corpus: Batch = CORPUS) -> Batch:
    return mistype_words(corpus, share, VOCABULARY, torch.Generator().manual_seed(seed))


def texts(batch: Batch) -> list[list[str]]:
    """The words that a batch's characters spell."""
    rows = zip(batch.statement.characters.tolist(), batch.statement.lengths.tolist(), strict=True)
    return [["".join(chr(code) for code in word if code) for word in row[:length]] for row, length in rows]


WORDS = st.text("abc5.", min_size=1, max_size=19) | st.sampled_from(["box", "boxes", "2", "a", "."])


@QUICK
@given(st.lists(st.lists(WORDS, min_size=1, max_size=6).map(" ".join), min_size=1, max_size=6), st.integers(0, 999))
def test_the_result_is_what_an_encoder_makes_of_the_misspelt_text(statements, seed):
    """Short words of few letters: many results are words of the vocabulary, or join, or come close to the limit."""
    vocabulary = Vocabulary.of(["box", "boxes", "abox", "a", "b", "ab", "ba", "aab", "abc"], minimum_count=1)
    encode = Encoder(vocabulary, WORLD, frozenset({LETTERS}))
    # What was cut off cannot be read back from the codes.
    statements = [" ".join(word[:MOST_LETTERS] for word in tokenize(text)) for text in statements]
    before = encode([replace(SCENES[0], statement=text) for text in statements])
    after = mistype_words(before, 0.7, vocabulary, torch.Generator().manual_seed(seed))
    again = encode([replace(SCENES[0], statement=" ".join(words)) for words in texts(after)])
    assert_same(after[:], again[:])
    assert after.statement.words.shape == before.statement.words.shape  # graphs of a step read fixed memory


def test_a_word_has_at_most_one_error_and_a_statement_loses_at_most_one_blank():
    kinds = set()
    for old, new in zip(texts(CORPUS), texts(mistyped(0.5)), strict=True):
        assert len(old) - 1 <= len(new) <= len(old)
        if len(new) < len(old):
            continue
        for right, wrong in zip(old, new, strict=True):
            kinds.add(error(right, wrong))
    assert kinds == {"none", "dropped", "doubled", "swapped", "replaced"}


def error(right: str, wrong: str) -> str:
    def joined(change):
        return {change(at) for at in range(len(right))}

    if right == wrong:
        return "none"
    if wrong in joined(lambda at: right[:at] + right[at + 1 :]):
        return "dropped"
    if wrong in joined(lambda at: right[: at + 1] + right[at:]):
        return "doubled"
    if wrong in joined(lambda at: right[:at] + right[at + 1 : at + 2] + right[at : at + 1] + right[at + 2 :]):
        return "swapped"
    (at,) = (at for at in range(len(right)) if right[at] != wrong[at])
    assert any(right[at] + wrong[at] in row or wrong[at] + right[at] in row for row in KEYBOARD)
    return "replaced"


@pytest.mark.parametrize("share", [0.05, 0.3])
def test_about_that_share_of_the_words_changes(share):
    changed, total, lost = 0, 0, 0
    for seed in range(5):
        for old, new in zip(texts(CORPUS), texts(mistyped(share, seed)), strict=True):
            lost += len(new) < len(old)
            if len(new) == len(old):
                total += sum(len(word) > 1 for word in old)
                changed += sum(map(str.__ne__, old, new))
    assert changed / total == pytest.approx(share, rel=0.2)  # a letter swapped with itself is no error
    assert lost / (5 * len(SCENES)) == pytest.approx(share, rel=0.3)


def test_the_generator_alone_decides_and_nothing_but_the_statement_changes():
    assert mistyped(0.2, seed=3).fingerprint() == mistyped(0.2, seed=3).fingerprint()
    assert mistyped(0.2, seed=3).fingerprint() != mistyped(0.2, seed=4).fingerprint()
    before = CORPUS.fingerprint()
    assert replace(mistyped(0.9), statement=CORPUS.statement).fingerprint() == before  # CORPUS itself is unchanged
    assert mistyped(0.0) is CORPUS


def test_a_model_without_letters_sees_unknown_words():
    plain = replace(CORPUS, statement=replace(CORPUS.statement, characters=None))
    lost = 0
    for old, new in zip(
        plain.statement.words.tolist(), mistyped(0.3, corpus=plain).statement.words.tolist(), strict=True
    ):
        matcher = difflib.SequenceMatcher(None, old, new)
        added = [word for kind, *_, start, end in matcher.get_opcodes() if kind != "equal" for word in new[start:end]]
        lost += added.count(UNKNOWN)
    assert lost > 0.2 * int(plain.statement.lengths.sum())


def test_statements_with_layouts_keep_their_blanks():
    corpus = Encoder(VOCABULARY, WORLD, frozenset({LETTERS, Input.LAYOUT}))(SCENES)
    changed = mistype_words(corpus, 0.5, VOCABULARY, torch.Generator().manual_seed(0))
    assert torch.equal(changed.statement.lengths, corpus.statement.lengths)
    assert not torch.equal(changed.statement.characters, corpus.statement.characters)


def test_letters_are_codes_cut_at_the_limit():
    assert spell(["box"])[0].tolist() == [98, 111, 120] + [0] * (MOST_LETTERS - 3)
    assert spell(["é𝒳a"])[0, :4].tolist() == [127, 127, 97, 0]
    assert (spell(["a" * MOST_LETTERS]) == spell(["a" * 40])).all()
    assert spell([]).shape == (0, MOST_LETTERS)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.9])
def test_about_that_share_of_the_words_is_dropped(share):
    def dropped(seed: int) -> Batch:
        return drop_words(CORPUS, share, torch.Generator().manual_seed(seed))

    batch = dropped(0)
    lost = batch.statement.words != CORPUS.statement.words
    assert (batch.statement.words[lost] == UNKNOWN).all()
    assert not lost[~CORPUS.statement.mask].any()
    assert lost[CORPUS.statement.mask].float().mean() == pytest.approx(share, abs=0.05)
    unchanged = replace(batch.statement, words=CORPUS.statement.words)
    assert replace(batch, statement=unchanged).fingerprint() == CORPUS.fingerprint()
    assert dropped(0).fingerprint() == batch.fingerprint()
    assert not share or dropped(1).fingerprint() != batch.fingerprint()
