"""Tables of wordings. Those of `counts.py` are in `counts.txt`, and so on.

A table begins with its name, `[totals]`. Its lines are wordings, indented and separated by ` / `; lines that are
indented further continue the line before, and `3* ` stands before a wording that is as frequent as three. A table with
several meanings has rows: a line of columns, `weight ; meaning`, followed by the wordings. Where some wordings are
phrases and some are whole clauses, the lines of the clauses begin with `+`. Lines that begin with `#` are comments.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from veriscene.english.speaker import Speaker


@dataclass
class Row:
    """Wordings of one meaning."""

    columns: Sequence[str] = ()  # without the weight
    wordings: list[str] = field(default_factory=list)
    clauses: list[str] = field(default_factory=list)

    def say(self, say: Speaker, **words: object) -> str:
        """Returns one of the wordings, with these words in its slots."""
        return say.rng.choice(self.wordings).format(**words)


@dataclass
class Table(Row):
    """Rows with weights, or the wordings of a single meaning."""

    rows: list[tuple[float, Row]] = field(default_factory=list)

    def draw(self, say: Speaker) -> Row:
        """Returns a random row."""
        return say.weighted(*self.rows)


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
            row = Row(columns)
            list(found.values())[-1].rows.append((float(weight), row))
    return found
