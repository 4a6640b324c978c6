"""Words and their numbers."""

from hypothesis import given
from hypothesis import strategies as st

from veriscene.tensors.vocabulary import PADDING, UNKNOWN, Vocabulary, tokenize


@given(st.text())
def test_tokens_are_the_text_without_its_blanks_in_lower_case(text):
    tokens = tokenize(text)
    assert "".join(tokens) == "".join(text.lower().split())
    assert bool(tokens) == bool(text.strip())
    assert tokens == tokenize(" ".join(tokens)) == tokenize(text.lower())


def test_words_numbers_and_marks_are_tokens_of_their_own():
    assert tokenize("There's a Box, with 12items.") == ["there", "'", "s", "a", "box", ",", "with", "12", "items", "."]
    assert tokenize("blue-black") == ["blue", "-", "black"]


@given(st.lists(st.lists(st.sampled_from("abcdef"), unique=True).map(" ".join), max_size=12), st.integers(1, 4))
def test_a_word_of_fewer_statements_than_the_least_count_is_unknown(statements, minimum):
    vocabulary = Vocabulary.of(statements, minimum_count=minimum)
    for word in "abcdef":
        statements_with_it = sum(word in statement.split() for statement in set(statements))
        (number,) = vocabulary.encode(word)
        assert (number == UNKNOWN) == (statements_with_it < minimum)
        assert number != PADDING
        if number != UNKNOWN:
            assert vocabulary.words[number] == word
    assert len(vocabulary) == len(set(vocabulary.words))
    assert {PADDING, UNKNOWN} == {0, 1}


def test_a_statement_counts_once_however_many_scenes_it_is_told_of_and_whatever_their_order():
    statements = ["there is a box", "there is a box", "there is a box", "a tower is there", "is a rare thing there"]
    vocabulary = Vocabulary.of(statements, minimum_count=3)
    assert vocabulary == Vocabulary.of(reversed(statements), minimum_count=3)
    assert vocabulary.encode("There is a box") == [*map(vocabulary.words.index, ("there", "is", "a")), UNKNOWN]
    assert len(vocabulary) == 5


def test_the_words_of_the_vocabulary_cannot_be_written_as_its_special_ones():
    vocabulary = Vocabulary.of(["<pad> <unk>"] * 2, minimum_count=1)
    assert PADDING not in vocabulary.encode("<pad> <unk>")
    assert vocabulary.encode("pad") != [UNKNOWN]
