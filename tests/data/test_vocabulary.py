"""Words and their numbers."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veriscene.config import DataConfig
from veriscene.data.vocabulary import PADDING, SPECIAL, UNKNOWN, Vocabulary, tokenize
from veriscene.errors import InputError
from veriscene.training.source import vocabulary_of
from veriscene.world.corpus import split_file
from veriscene.worlds import read

STATEMENTS = st.lists(st.lists(st.sampled_from("abcdef"), unique=True).map(" ".join), max_size=12)


@given(st.text())
def test_tokens_are_the_lower_case_text_without_white_space(text):
    tokens = tokenize(text)
    assert "".join(tokens) == "".join(text.lower().split())
    assert bool(tokens) == bool(text.strip())
    assert tokens == tokenize(" ".join(tokens)) == tokenize(text.lower())


def test_words_numbers_and_punctuation_marks_are_tokens():
    assert tokenize("There's a Box, with 12items.") == ["there", "'", "s", "a", "box", ",", "with", "12", "items", "."]
    assert tokenize("blue-black") == ["blue", "-", "black"]


@given(STATEMENTS, st.integers(1, 4))
def test_a_word_in_fewer_distinct_statements_than_the_minimum_is_unknown(statements, minimum):
    vocabulary = Vocabulary.of(statements * 2, minimum_count=minimum)  # repetitions do not count
    assert vocabulary == Vocabulary.of(reversed(statements), minimum_count=minimum)
    for word in "abcdef":
        (number,) = vocabulary.encode(word)
        assert (number == UNKNOWN) == (sum(word in statement.split() for statement in set(statements)) < minimum)
        assert number == UNKNOWN or vocabulary.words[number] == word


@given(STATEMENTS, st.integers(1, 4))
def test_counting_examples_counts_every_repetition_of_a_statement(statements, minimum):
    vocabulary = Vocabulary.of(statements, minimum_count=minimum, counting="examples")
    occurring = Counter(word for statement in statements for word in statement.split())
    assert set(vocabulary.words) - set(SPECIAL) == {word for word, count in occurring.items() if count >= minimum}


@pytest.mark.parametrize(
    ("counting", "minimum", "kept"), [("examples", 1, 229), ("examples", 3, 224), ("statements", 3, 133)]
)
def test_literal_counting_keeps_nearly_all_words_of_nlvr(nlvr_folder, counting, minimum, kept):
    statements = [example.statement for example in read(split_file(nlvr_folder, "train"))]
    vocabulary = vocabulary_of(statements, DataConfig(minimum_count=minimum, counting=counting))
    assert len(vocabulary) == len(SPECIAL) + kept


@given(STATEMENTS, STATEMENTS)
def test_coverage_and_unknown_words_agree_with_encoding(train, others):
    vocabulary = Vocabulary.of(train, minimum_count=1)
    numbers = [number for statement in others for number in vocabulary.encode(statement)]
    assert vocabulary.coverage(others) == pytest.approx(
        1 - numbers.count(UNKNOWN) / max(1, len(numbers)) if numbers else 0
    )
    for statement in others:
        words = [word for word in tokenize(statement) if word.isalnum()]
        assert vocabulary.knows(statement) == all(vocabulary.encode(word) != [UNKNOWN] for word in words)
    assert vocabulary.coverage(train) == bool("".join(train).strip())


def test_special_tokens_cannot_be_written_in_a_statement():
    vocabulary = Vocabulary.of(["<pad> <unk>"] * 2, minimum_count=1)
    assert PADDING not in vocabulary.encode("<pad> <unk>")
    assert vocabulary.encode("pad") != [UNKNOWN]


@pytest.mark.parametrize("words", [(), ("a", "b"), SPECIAL[:1], (*SPECIAL[::-1], "a")])
def test_a_vocabulary_without_special_tokens_is_refused(words):
    with pytest.raises(InputError, match="<pad> and <unk>"):
        Vocabulary(words)


def test_a_vocabulary_with_duplicates_is_refused():
    with pytest.raises(InputError, match="'box'"):
        Vocabulary((*SPECIAL, "box", "a", "box"))
