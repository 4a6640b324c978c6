"""The paper's kinds of figures, drawn from the models of a reproduced Table 1, on dev."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from veriscene import files
from veriscene.errors import MissingRequirement
from veriscene.judge import load
from veriscene.judge.checkpoint import SUMMARY
from veriscene.judge.evaluate import judged, probabilities
from veriscene.metrics import require_matplotlib
from veriscene.metrics.judged import Judged, contrasts, first_per_statement, mistakes, typical
from veriscene.training.distributed import Machine
from veriscene.worlds.nlvr.corpus import Example

MODEL = "BiATT-Pointer"
EXAMPLES = 4  # in a figure; a contrast shares them with another baseline's, and heat maps take much room


@dataclass(frozen=True)
class Figure:
    name: str  # of its files
    rows: tuple[str, ...]  # of Table 1, whose models it needs


FIGURES = (
    *(Figure("contrast-bienc", (MODEL, "BiENC")), Figure("contrast-biatt", (MODEL, "BiATT"))),
    *(Figure(name, (MODEL,)) for name in ("errors", "order", "attention")),
)


@dataclass(frozen=True)
class Drawer:
    folder: Path
    models: Mapping[str, Path]  # folders of seeds by row, whether or not they are trained
    dev: Sequence[Example]
    machine: Machine

    def outdated(self, trained: Sequence[str]) -> list[Figure]:
        """Those whose rows are trained, and that were not drawn since."""
        ready = [figure for figure in FIGURES if set(figure.rows) <= set(trained)]
        if not ready:
            return []
        main = self.machine.is_main
        flags = self.machine.any(*(main and not self._is_current(figure) for figure in ready))
        return [figure for figure, is_outdated in zip(ready, flags, strict=True) if is_outdated]

    def why_missing(self, figure: Figure, trained: Sequence[str]) -> str:
        """Of a figure without a drawing."""
        if lacking := [row for row in figure.rows if row not in trained]:
            return f"not drawn yet: it needs {' and '.join(lacking)}, not trained so far"
        try:
            require_matplotlib()
        except MissingRequirement as error:
            return f"not drawn here: {error}"
        return "no dev example can be shown"

    def draw(self, figures: Sequence[Figure]) -> None:
        """Writes NAME.svg and NAME.pdf; if no example can be shown, an empty NAME.svg."""
        require_matplotlib()
        rows = dict.fromkeys(row for figure in figures for row in figure.rows)
        judges = {row: load(self.models[row], device=str(self.machine.device)) for row in rows}
        found = {row: probabilities(judge, self.dev, self.machine.accelerator) for row, judge in judges.items()}
        every = {row: [Judged(each, found[row][each.identifier]) for each in self.dev] for row in rows}

        def again(row: str, chosen: Sequence[Judged]) -> list[Judged]:
            """With order and attention, which would take much memory for all examples."""
            return judged(judges[row], [each.example for each in chosen])

        def write() -> None:
            for figure in figures:
                (self.folder / f"{figure.name}.pdf").unlink(missing_ok=True)
                for kind, content in (_drawn(figure, every, again) or {"svg": b""}).items():
                    files.write_bytes(self.folder / f"{figure.name}.{kind}", content)

        self.machine.on_main(write)

    def svg(self, figure: Figure) -> str | None:
        """None if it is not drawn; empty if no example could be shown."""
        path = self.folder / f"{figure.name}.svg"
        return files.read_text(path) if path.is_file() else None

    def _is_current(self, figure: Figure) -> bool:
        drawn = self.folder / f"{figure.name}.svg"
        trained = [(self.models[row] / SUMMARY).stat().st_mtime_ns for row in figure.rows]
        return drawn.is_file() and drawn.stat().st_mtime_ns >= max(trained)


def _drawn(
    figure: Figure,
    every: Mapping[str, Sequence[Judged]],
    again: Callable[[str, Sequence[Judged]], Sequence[Judged]],
) -> dict[str, bytes] | None:
    """The files by format; None if no example can be shown."""
    from veriscene.report import figures as drawing

    own = every[MODEL]
    if len(figure.rows) == 2:
        pairs = first_per_statement(contrasts(own, every[figure.rows[1]]), lambda pair: pair[0].example.statement)
        half = pairs[: EXAMPLES // 2]
        return drawing.contrast(half, model=MODEL, baseline=figure.rows[1]) if half else None
    if figure.name == "errors":
        wrong = first_per_statement(mistakes(own), lambda each: each.example.statement)[:EXAMPLES]
        return drawing.errors(wrong, model=MODEL) if wrong else None
    draw, count = (drawing.order, EXAMPLES) if figure.name == "order" else (drawing.attention, EXAMPLES // 2)
    right = again(MODEL, typical(own, count))
    return draw(right, model=MODEL) if right else None
