"""The network that turns statements into programs, and the file that it is kept in."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from some_worlds import SHELF
from veriscene import worlds
from veriscene.data.reader import (
    DIALECT,
    END,
    MAX_NGRAMS,
    OUTSIDE,
    PAD,
    PLAIN,
    SPECIAL_TOKENS,
    START,
    ReaderConfig,
    ngrams_of,
    split_words,
)
from veriscene.english.grammar import draw
from veriscene.errors import InputError
from veriscene.language.expression import compares_itself
from veriscene.language.tokens import arity, tokens_of
from veriscene.models.reader import Reader, ReaderNetwork
from veriscene.worlds import parse

LANGUAGE = worlds.language(SHELF)
LENGTH = 24
STYLES = (PLAIN, DIALECT, OUTSIDE)


@pytest.fixture(scope="module")
def lessons() -> list[tuple[str, list[str]]]:
    rng = random.Random(1)
    drawn = [draw(rng, LANGUAGE) for _ in range(40)]
    return [(each.text, [PLAIN, *tokens_of(each.program)]) for each in drawn]


@pytest.fixture(scope="module")
def reader(lessons: list[tuple[str, list[str]]]) -> Reader:
    """A tiny reader with random weights."""
    torch.manual_seed(1)
    words = sorted({word for text, _ in lessons for word in split_words(text)})
    tokens = [*SPECIAL_TOKENS, *sorted({token for _, program in lessons for token in program if token != PLAIN})]
    sizes = ReaderConfig(len(words) + 2, len(tokens), 16, 2, 32, 2, ngrams=64, max_words=48, max_tokens=LENGTH + 1)
    return Reader(ReaderNetwork(sizes).eval(), words, tokens, LANGUAGE)


@pytest.fixture(scope="module")
def batch(reader: Reader, lessons: list[tuple[str, list[str]]]) -> tuple[Tensor, Tensor]:
    return reader.encode([split_words(text)[:48] for text, _ in lessons])


def test_writing_with_a_cache_agrees_with_the_whole_network_at_each_step(
    reader: Reader, batch: tuple[Tensor, Tensor]
) -> None:
    """Of the tokens that may follow, the most probable one is written."""
    written, certainty, first = (torch.from_numpy(each) for each in reader.write(*(each.numpy() for each in batch)))
    assert written.size(1) <= LENGTH
    before = torch.cat([torch.full_like(written[:, :1], START), written[:, :-1]], 1)
    with torch.inference_mode():
        logits = reader.network(*batch, before).log_softmax(-1)
    torch.testing.assert_close(first, logits[:, 0], atol=1e-5, rtol=1e-4)
    for row, numbers in enumerate(written.tolist()):
        missing, least = 1, 1.0
        for place, number in enumerate(numbers):
            if place == 0:
                allowed = [3, 4, 5]
            elif missing:
                allowed = list(range(len(SPECIAL_TOKENS), len(reader.tokens)))
            else:
                allowed = [END]
            scores = logits[row, place]
            assert number == allowed[int(scores[allowed].argmax())]
            if place:
                least = min(least, float(scores[number].exp()))
                missing += arity(reader.tokens[number]) - 1 if number != END else 0
            elif reader.tokens[number] == OUTSIDE:
                missing = 0
            if number == END:
                assert not any(numbers[place + 1 :])
                break
        assert float(certainty[row]) == pytest.approx(least, abs=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_random_weights_write_complete_programs_unless_there_are_too_many_tokens(
    reader: Reader, batch: tuple[Tensor, Tensor], seed: int
) -> None:
    torch.manual_seed(seed)
    network = ReaderNetwork(reader.config).eval()
    for parameter in network.parameters():
        parameter.data *= 3.0  # so that programs differ
    other = Reader(network, reader.words, reader.tokens, LANGUAGE)
    for numbers in other.write(*(each.numpy() for each in batch))[0].tolist():
        tokens = [reader.tokens[number] for number in numbers if number != PAD]
        assert tokens[0] in STYLES
        if END not in numbers:
            assert len(tokens) == LENGTH
            continue
        assert tokens.pop() == SPECIAL_TOKENS[END]
        missing = [1]
        for token in tokens[1:]:
            missing.append(missing[-1] + arity(token) - 1)
        assert tokens == [OUTSIDE] or (missing[-1] == 0 and min(missing[:-1]) > 0)


def test_the_network_does_not_look_ahead(reader: Reader, batch: tuple[Tensor, Tensor]) -> None:
    tokens = torch.randint(3, len(reader.tokens), (len(batch[0]), 8), generator=torch.Generator().manual_seed(1))
    changed = tokens.clone()
    changed[:, 5:] = START
    with torch.inference_mode():
        one, other = (reader.network(*batch, each)[:, :5] for each in (tokens, changed))
    torch.testing.assert_close(one, other)


def test_neither_padding_nor_groups_change_a_reading(reader: Reader, batch: tuple[Tensor, Tensor]) -> None:
    given = [each.numpy() for each in batch]
    together = reader.write(*given)
    for row in range(0, len(given[0]), 7):
        length = int((given[1][row, :, 0] != 0).sum())
        alone = reader.write(*(each[row : row + 1, :length] for each in given))
        size = alone[0].shape[1]
        assert np.array_equal(alone[0][0], together[0][row, :size]) and not together[0][row, size:].any()
        np.testing.assert_allclose(alone[1][0], together[1][row], atol=1e-4, rtol=1e-4)
        np.testing.assert_allclose(alone[2][0], together[2][row], atol=1e-5, rtol=1e-4)


def test_a_reader_learns_a_few_statements_and_reads_them_from_its_file(
    lessons: list[tuple[str, list[str]]], tmp_path: Path
) -> None:
    """Equal readings before and after saving, with programs: random weights write hardly any."""
    lessons = [lesson for lesson in lessons if len(lesson[1]) < LENGTH][:6]
    words = sorted({word for text, _ in lessons for word in split_words(text)})
    tokens = [*SPECIAL_TOKENS, *sorted({token for _, program in lessons for token in program if token != PLAIN})]
    torch.manual_seed(1)
    sizes = ReaderConfig(
        len(words) + 2, len(tokens), 32, 2, 64, 1, dropout=0.0, ngrams=64, max_words=48, max_tokens=LENGTH + 1
    )
    reader = Reader(ReaderNetwork(sizes), words, tokens, LANGUAGE)
    inputs = reader.encode([split_words(text) for text, _ in lessons])
    targets = torch.zeros(len(lessons), LENGTH + 1, dtype=torch.long)
    for row, (_, program) in enumerate(lessons):
        targets[row, : len(program) + 1] = torch.tensor([*map(tokens.index, program), END])
    before = torch.cat([torch.full_like(targets[:, :1], START), targets[:, :-1]], 1)
    optimizer = torch.optim.AdamW(reader.network.parameters(), lr=1e-2)
    for _ in range(150):
        logits = reader.network(*inputs, before)
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    for parameter in reader.network.parameters():  # A file keeps half precision.
        parameter.data = parameter.data.half().float()
    texts = [text for text, _ in lessons]
    readings = reader.read(texts)
    assert [reading.program and tokens_of(reading.program) for reading in readings] == [each[1:] for _, each in lessons]

    reader.save(tmp_path / "reader.safetensors")
    loaded = Reader.load(tmp_path / "reader.safetensors")
    assert (loaded.words, loaded.tokens, loaded.language) == (reader.words, reader.tokens, reader.language)
    for ours, theirs in zip(readings, loaded.read(texts), strict=True):
        assert ours.program == theirs.program
        values = ((each.certainty, each.dialect, each.outside) for each in (ours, theirs))
        torch.testing.assert_close(*map(torch.tensor, values))


def test_readings_are_in_the_order_of_statements_and_shares_are_probabilities(
    reader: Reader, lessons: list[tuple[str, list[str]]]
) -> None:
    texts = [text for text, _ in lessons]
    readings = reader.read(texts)
    assert reader.read(texts[::-1]) == readings[::-1]
    for each in readings:
        assert 0 <= each.certainty <= 1 and 0 <= each.dialect + each.outside <= 1
    assert reader.read([]) == []


@pytest.mark.parametrize("text", ["", " ", "?", "привет", "a" * 5000, "there is " * 500])
def test_any_text_can_be_read(reader: Reader, text: str) -> None:
    (reading,) = reader.read([text])
    assert 0 <= reading.outside <= 1


@pytest.mark.parametrize("damage", ["cut", "other", "empty", "missing", "config"])
def test_a_damaged_file_is_an_input_error(reader: Reader, tmp_path: Path, damage: str) -> None:
    path = tmp_path / "reader.safetensors"
    reader.save(path)
    data = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        at = data.index(b"dim")
        changed = data[:at] + b"dum" + data[at + 3 :]
        path.write_bytes({"cut": data[:-100], "other": b"no weights at all", "empty": b"", "config": changed}[damage])
    with pytest.raises(InputError) as caught:
        Reader.load(path)
    assert str(path) in str(caught.value)


def test_words_share_ngrams_with_their_misspellings() -> None:
    def shared(one: str, other: str) -> int:
        common = Counter(ngrams_of(one, 8192)) & Counter(ngrams_of(other, 8192))
        return sum(common.values()) - common[0]

    assert shared("triangle", "triangel") > shared("triangle", "bottle")
    assert all(len(ngrams_of(word, 64)) == MAX_NGRAMS for word in ("a", "box", "extraordinarily"))
    assert all(0 <= number < 64 for number in ngrams_of("extraordinarily", 64))


def test_statements_are_split_into_words_numbers_and_signs() -> None:
    assert split_words("There’s NO box, isn't it? 2.5€") == [
        "there's",
        "no",
        "box",
        ",",
        "isn't",
        "it",
        "?",
        "2.5",
        "€",
    ]


def test_a_compact_file_is_near_its_weights_and_is_kept_without_loss(reader: Reader, tmp_path: Path) -> None:
    full, small, again = (tmp_path / f"{name}.safetensors" for name in ("full", "small", "again"))
    reader.grammar = 7
    reader.save(full)
    reader.save(small, compact=True)
    assert small.stat().st_size < 0.8 * full.stat().st_size  # most of so small a reader's file are names
    loaded = Reader.load(small)
    assert loaded.grammar == Reader.load(full).grammar == 7
    loaded.save(again)
    assert again.read_bytes() == small.read_bytes()
    for name, weight in reader.network.state_dict().items():
        row = weight.abs().amax(-1, keepdim=True) if weight.dim() == 2 else weight.abs()
        error = (loaded.network.state_dict()[name] - weight).abs()
        assert bool((error <= row * (0.51 / 127 if weight.dim() == 2 else 1e-3) + 1e-6).all()), name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("count(all_boxes[0]) > count(all_boxes[0])", True),
        ("not exist(filter_obj(all_boxes, lambda b: count(b) != count(b)))", True),
        ("count(all_boxes[0]) > count(all_boxes[1]) and count(all_items) < count(all_items)", True),
        ("count(all_boxes[0]) > count(all_boxes[1])", False),
        ("count(all_boxes[0]) == count(all_boxes[1]) + count(all_boxes[1])", False),
        ("exist(all_items) == exist(all_items)", False),  # if and only if
        ("exist(filter_obj(all_items, lambda x: x == x)) == exist(all_items)", True),
    ],
)
def test_a_comparison_with_itself_is_no_reading(text: str, expected: bool) -> None:
    assert compares_itself(parse(text).expression) is expected
