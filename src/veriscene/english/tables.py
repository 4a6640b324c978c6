"""Tables of wordings, written as text.

A row begins with a line of columns, `weight ; meaning`, which are followed by indented lines of wordings, separated by
` / `. Where some wordings are phrases and some are whole clauses, the lines of the clauses begin with `+`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from veriscene.english.speaker import Speaker


@dataclass(frozen=True)
class Row:
    """A row of a table."""

    columns: tuple[str, ...]  # without the weight
    wordings: list[str] = field(default_factory=list)
    clauses: list[str] = field(default_factory=list)


class Table:
    """Rows with weights, read from their text."""

    def __init__(self, text: str) -> None:
        self.rows: list[tuple[float, Row]] = []
        for line in text.strip().splitlines():
            if not line.startswith(" "):
                weight, *columns = (each.strip() for each in line.split(";"))
                self.rows.append((float(weight), Row(tuple(columns))))
                continue
            row, said = self.rows[-1][1], line.strip()
            (row.clauses if said.startswith("+") else row.wordings).extend(wordings(said.removeprefix("+ ")))

    def draw(self, say: Speaker) -> Row:
        """A random row."""
        return say.weighted(*self.rows)


def wordings(text: str) -> tuple[str, ...]:
    """Returns the wordings of a text, which are separated by ` / ` or lines."""
    return tuple(each.strip() for line in text.strip().splitlines() for each in line.split(" / "))
