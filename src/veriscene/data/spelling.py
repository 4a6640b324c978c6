"""Changes to training statements that keep their labels valid, redrawn each epoch."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from veriscene.data.batch import Batch, Statement
from veriscene.data.vocabulary import CODES, MOST_LETTERS, PADDING, UNKNOWN, Vocabulary, spell

KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
DROPPED, DOUBLED, SWAPPED, REPLACED = range(4)  # typing errors
# The longest word that changes. It gains at most one letter, so that it is never cut.
_LONGEST = MOST_LETTERS - 2
_HASH = 0x9E3779B97F4A7C15 - (1 << 64)  # odd, as int64


def drop_words(batch: Batch, share: float, generator: torch.Generator) -> Batch:
    """Replaces this share of the words by UNK."""
    if not share:
        return batch
    # Drawn on the generator's device and moved, so that every device sees the same words dropped.
    dropped = (torch.rand(batch.statement.words.shape, generator=generator) < share).to(batch.device)
    words = torch.where(dropped & batch.statement.mask, UNKNOWN, batch.statement.words)
    return replace(batch, statement=replace(batch.statement, words=words))


def mistype_words(batch: Batch, share: float, vocabulary: Vocabulary, generator: torch.Generator) -> Batch:
    """Makes one typing error in this share of the words, and loses one blank in this share of the statements.

    Statements become what an encoder makes of the misspelt text: a changed word has the number of the word that it now
    is, usually UNK, and its new letters, if the batch has letters. Errors: a letter is dropped, doubled, swapped with
    the next, or replaced by a neighbour on the keyboard. Only words of the letters a to z change: another digit would
    change the meaning. Batches with layouts keep their blanks, because layouts refer to words by their places.
    """
    if not share:
        return batch
    speller = _Speller(vocabulary, batch.device)
    statement = batch.statement.map(torch.clone)  # once: a million statements take a gigabyte
    if batch.layout is None:
        _lose_blanks_(statement, share, speller, generator)
    # Drawn on the generator's device and moved, so that every device sees the same errors.
    drawn = (torch.rand(statement.words.shape, generator=generator) < share).to(statement.words.device)
    rows, places = (drawn & statement.mask).nonzero(as_tuple=True)
    letters = speller.letters(statement, rows, places)
    plain = _are_plain(letters, least=2)
    speller.write_(statement, rows[plain], places[plain], _misspelt(letters[plain], generator))
    return replace(batch, statement=statement)


def _misspelt(letters: Tensor, generator: torch.Generator) -> Tensor:
    """Returns the plain words (word, letter), each with one error."""
    device, count, length = letters.device, len(letters), (letters != 0).sum(dim=1)
    kind, some, right = (torch.randint(most, (count,), generator=generator).to(device) for most in (4, 1 << 30, 2))
    at = (some % (length - (kind == SWAPPED).long()))[:, None]  # the last letter has no next one
    kind, place = kind[:, None], torch.arange(MOST_LETTERS, device=device)
    shift = {
        DROPPED: (place >= at).long(),
        DOUBLED: -(place > at).long(),
        SWAPPED: (place == at).long() - (place == at + 1).long(),
    }
    source = place + sum(offset * (kind == which) for which, offset in shift.items())
    moved = letters.gather(1, source.clamp(max=MOST_LETTERS - 1))  # the last place of a plain word is empty
    neighbour = _neighbours().to(device)[letters.gather(1, at)[:, 0].long(), right]
    return torch.where((kind == REPLACED) & (place == at), neighbour[:, None], moved)


def _lose_blanks_(statement: Statement, share: float, speller: _Speller, generator: torch.Generator) -> None:
    """Joins two successive words in this share of the statements, where both are plain and not too long together."""
    device, longest, lengths = statement.words.device, statement.words.size(1), statement.lengths
    rows = (torch.rand(len(lengths), generator=generator) < share).nonzero()[:, 0]
    some = torch.randint(1 << 30, (len(rows),), generator=generator).to(device)
    rows = rows.to(device)
    rows, some = (tensor[lengths[rows] > 1] for tensor in (rows, some))
    places = some % (lengths[rows] - 1)
    first, second = (speller.letters(statement, rows, at) for at in (places, places + 1))
    sizes = [(letters != 0).sum(dim=1) for letters in (first, second)]
    fits = _are_plain(first) & _are_plain(second) & (sizes[0] + sizes[1] <= _LONGEST)
    rows, places, first, second, size = (tensor[fits] for tensor in (rows, places, first, second, sizes[0]))

    place = torch.arange(longest, device=device)
    moved = (place + (place > places[:, None])).clamp(max=longest - 1)  # the words after the second move up
    lengths[rows] -= 1
    is_word = place < lengths[rows, None]
    statement.words[rows] = statement.words[rows[:, None], moved].masked_fill(~is_word, PADDING)
    if statement.characters is not None:
        characters = statement.characters[rows[:, None], moved]
        statement.characters[rows] = characters.masked_fill(~is_word[..., None], 0)

    letter = torch.arange(MOST_LETTERS, device=device)
    # Beyond the first word come the letters of the second, which begin at MOST_LETTERS.
    source = torch.where(letter < size[:, None], letter, letter + MOST_LETTERS - size[:, None])
    speller.write_(statement, rows, places, torch.cat([first, second], dim=1).gather(1, source))


class _Speller:
    """Turns words into letters and back."""

    def __init__(self, vocabulary: Vocabulary, device: torch.device) -> None:
        self.spelling = torch.from_numpy(spell(vocabulary.words)).to(device)
        self.hashes, self.order = _hashes(self.spelling).sort()

    def letters(self, statement: Statement, rows: Tensor, places: Tensor) -> Tensor:
        """Returns the letters of the words there (word, letter); without characters, unknown words have no letters."""
        if statement.characters is not None:
            return statement.characters[rows, places]
        return self.spelling[statement.words[rows, places]]

    def write_(self, statement: Statement, rows: Tensor, places: Tensor, letters: Tensor) -> None:
        """Puts words, spelt (word, letter), into these rows and places of a statement."""
        found = torch.searchsorted(self.hashes, _hashes(letters)).clamp(max=len(self.hashes) - 1)
        numbers = self.order[found]
        is_known = (self.spelling[numbers] == letters).all(dim=1)
        statement.words[rows, places] = torch.where(is_known, numbers, UNKNOWN)
        if statement.characters is not None:
            statement.characters[rows, places] = letters


def _hashes(letters: Tensor) -> Tensor:
    """Returns one int64 for each word (word, letter)."""
    first, second = letters.contiguous().view(torch.int64).unbind(dim=1)
    return first * _HASH + second


def _are_plain(letters: Tensor, least: int = 1) -> Tensor:
    """Tells whether each word has at least that many letters, all from a to z, and room for one more."""
    present, length = letters != 0, (letters != 0).sum(dim=1)
    is_letter = (letters >= ord("a")) & (letters <= ord("z"))
    return (is_letter == present).all(dim=1) & (length >= least) & (length <= _LONGEST)


def _neighbours() -> Tensor:
    """Returns (code, 2): the keys to the left and to the right; at the end of a row, twice the only neighbour."""
    table = torch.zeros(CODES, 2, dtype=torch.uint8)
    for row in KEYBOARD:
        for left, key, right in zip(row[1] + row[:-1], row, row[1:] + row[-2], strict=True):
            table[ord(key)] = torch.tensor([ord(left), ord(right)], dtype=torch.uint8)
    return table
