"""Tables of wordings. Those of `counts.py` are in `counts.txt`, and so on.

A table begins with its name, `[totals]`. Its lines are wordings, indented and separated by ` / `; lines that are
indented further continue the line before, and `3* ` stands before a wording that is as frequent as three. A table with
several meanings has rows: a line of columns, `weight ; meaning`, followed by the wordings. Rows without any share those
at the head of the table, and say in further columns which words fill their slots: `weight ; meaning ; more: fewer`. An
empty word, `is_top:`, marks what wordings with `{is_top}` fit. Where some wordings are phrases and some are whole
clauses, the lines of the clauses begin with `+`. Lines that begin with `#` are comments.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import TYPE_CHECKING

from veriscene.english.meaning import Unfit

if TYPE_CHECKING:
    from veriscene.english.speaker import Speaker

_WORD = re.compile(r"(\w+):(?: (.*))?")


def worded(say: Speaker, wordings: Sequence[str], words: Mapping[str, object]) -> tuple[str, str]:
    """Returns one of the wordings, as it is in the table and with its words; those with other slots are left out."""
    options = list(wordings)
    while options:
        wording = options.pop(say.rng.randrange(len(options)))
        with suppress(KeyError):
            return wording, wording.format_map(words).format_map(words)  # words of rows have slots, too
    raise Unfit


@dataclass
class Row:
    """Holds the wordings of one meaning."""

    columns: Sequence[str] = ()  # without the weight and the words
    wordings: list[str] = field(default_factory=list)
    clauses: list[str] = field(default_factory=list)
    words: Mapping[str, str] = field(default_factory=dict)

    def say(self, say: Speaker, **words: object) -> str:
        """Returns one of the wordings for whose slots there are words, with these."""
        return worded(say, self.wordings, {**words, **self.words})[1]


@dataclass
class Table(Row):
    """Holds rows with weights, or the wordings of a single meaning."""

    rows: list[tuple[float, Row]] = field(default_factory=list)

    def draw(self, say: Speaker) -> Row:
        """Returns a random row."""
        row = say.weighted(*self.rows)
        return row if row.wordings or row.clauses else replace(row, wordings=self.wordings, clauses=self.clauses)


def tables(module: str) -> dict[str, Table]:
    """Returns the tables of a module, by name."""
    package, _, name = module.rpartition(".")
    found: dict[str, Table] = {}
    row = Row()
    text = (resources.files(package) / f"{name}.txt").read_text(encoding="utf-8")
    for line in re.sub(r"\n {6,}", " ", text).splitlines():
        said = line.strip()
        if line.startswith("["):
            row = found[said[1:-1]] = Table()
        elif line.startswith(" "):
            texts = row.clauses if said.startswith("+") else row.wordings
            for times, text in re.findall(r"(?:(\d)\* )?(.+?)(?: / |$)", said.removeprefix("+ ")):
                texts.extend([text] * int(times or 1))
        elif said and not line.startswith("#"):
            weight, *columns = (each.strip() for each in line.split(";"))
            words = [match for each in columns if (match := _WORD.fullmatch(each))]
            row = Row(columns[: len(columns) - len(words)], words={match[1]: match[2] or "" for match in words})
            list(found.values())[-1].rows.append((float(weight), row))
    return found
