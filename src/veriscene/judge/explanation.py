"""Why a judge says what it says: its verdict, the order and attention behind it, and what would change it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from veriscene.data.encoder import Input
from veriscene.judge.counterfactual import Search, find_flip
from veriscene.judge.eyes import EyesJudge
from veriscene.judge.judge import Judge, Question
from veriscene.world import drawing as render
from veriscene.world.edit import name
from veriscene.world.scene import BOX_EXTENT, Box, Scene
from veriscene.worlds.nlvr import decode
from veriscene.worlds.nlvr.raster import WIDTH

WORDS_SHOWN = 3  # per box: those that attend most to one item
BETWEEN = 10  # pixels between two scenes


@dataclass(frozen=True)
class Explanation:
    scene: Scene  # that was judged; of a picture, what was seen in it
    search: Search
    reads_items: bool  # otherwise order and attention, if any, are not about items

    def to_json(self) -> dict[str, Any]:
        """The object that the service returns: `verdict`, `counterfactual`, `searched`."""
        return self.search.to_json()

    @property
    def text(self) -> str:
        """Plain English, in several lines."""
        boxes = [line for number, box in enumerate(self.scene.boxes) for line in self._box(number, box)]
        return "\n".join([_said(self.search.verdict.probability), *boxes, self._counterfactual()])

    @property
    def svg(self) -> str:
        """The scene with the order in which it was read and, below it, the scene after the edits."""
        scenes = [render.svg(self.scene, self.search.verdict.order if self.reads_items else None)]
        if self.search.flip is not None:
            scenes.append(render.svg(self.search.flip.scene))
        step = BOX_EXTENT + BETWEEN
        placed = (f'<g transform="translate(0 {step * row})">{scene}</g>' for row, scene in enumerate(scenes))
        height = step * len(scenes) - BETWEEN
        return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}">{"".join(placed)}</svg>'

    def _box(self, number: int, box: Box) -> Iterator[str]:
        verdict, names = self.search.verdict, [name(item, box.items) for item in box.items]
        facts = [] if verdict.per_box is None else [f"{verdict.per_box[number]:.3f}"]
        if self.reads_items and verdict.order is not None:
            how = "in the order chosen" if verdict.order_is_chosen else "as they came"
            facts.append(f"items {how}: {', '.join(names[index] for index in verdict.order[number])}")
        yield f"  box {number + 1}: {', '.join(facts)}" if facts else f"  box {number + 1}"
        attention = verdict.attention
        # A single item has all the attention of every word.
        if self.reads_items and attention is not None and attention.words_to_items is not None and len(names) > 1:
            rows = zip(attention.words, attention.words_to_items[number], strict=True)
            strongest = [(max(row), word, names[row.index(max(row))]) for word, row in rows if word.isalnum()]
            strongest.sort(key=lambda found: -found[0])
            shown = (f'"{word}" to the {item} ({weight:.2f})' for weight, word, item in strongest[:WORDS_SHOWN])
            yield f"    attention: {', '.join(shown)}"

    def _counterfactual(self) -> str:
        search = self.search
        if search.flip is not None:
            return f"{_said(search.flip.verdict.probability)} if you {search.flip.text}"
        if search.complete:
            return f"none of the edits changes the verdict (judgements: {search.judgements:,})"
        return f"nothing that would change the verdict was found (judgements: {search.judgements:,})"


def explain(
    judge: Judge,
    question: Question,
    *,
    most_edits: int = 2,
    most_judgements: int = 1000,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Explanation:
    """Judges the question and searches for the fewest edits that flip the verdict (`find_flip`).

    Of a picture, the scene that is seen in it is explained. Raises InputError if no scene can be seen.
    """
    question = judge.readable(question)
    if isinstance(judge, EyesJudge):
        assert question.picture is not None
        (seen,) = judge.eyes.scenes([question.picture])
        question, judge = Question(question.statement, seen), judge.judge
    elif question.picture is not None:
        question = Question(question.statement, decode.scene(question.picture))
    assert question.scene is not None
    search = find_flip(judge, question, most_edits=most_edits, most_judgements=most_judgements, progress=progress)
    return Explanation(question.scene, search, Input.ITEMS in judge.encoder.inputs)


def _said(probability: float) -> str:
    return f"{'true' if probability > 0.5 else 'false'} (probability {probability:.3f})"
