"""Why a judge says what it says: its verdict, the order and attention behind it, and what would change it.

What would change a verdict are the fewest edits of the scene that flip it, found by judging edited scenes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import log
from typing import Any

from veriscene import worlds
from veriscene.data.encoder import Input
from veriscene.errors import InputError
from veriscene.judge.judge import STREAM_BATCH, EyesJudge, Judge, Question, Verdict, checked
from veriscene.output import Progress, silent
from veriscene.world import drawing
from veriscene.world.edits import Edit, edits
from veriscene.world.edits import name as item_name
from veriscene.world.scene import Box, Item, Number, Scene
from veriscene.world.schema import World

WORDS_SHOWN = 3  # per box: those that attend most to one item
BETWEEN = 10  # pixels between two scenes
CLEAR = 0.1  # A flip whose probability is this far from 0.5 is preferred to smaller but closer ones.
# Scenes with several edits that are compared by what is expected of them, per judgement: by their edits' gains; if a
# program was read, also by its truth, which tells exactly what flips it.
CANDIDATES_PER_JUDGEMENT, READ_PER_JUDGEMENT = 16, 64
_Shown = tuple[frozenset[Item], ...]  # what a scene shows, whatever the order of its items


@dataclass(frozen=True)
class Flip:
    """Edits that change the verdict."""

    world: World
    scene: Scene  # after the edits
    edits: tuple[Edit, ...]  # one after the other; each refers to the scene that those before it lead to
    verdict: Verdict  # on the edited scene

    @property
    def text(self) -> str:
        return ", then ".join(edit.text for edit in self.edits)

    def to_json(self) -> dict[str, Any]:
        return {
            "scene": self.world.to_json_scene(self.scene),
            "edits": [edit.to_json() for edit in self.edits],
            "verdict": self.verdict.to_json(),
            "text": self.text,
        }


@dataclass(frozen=True)
class Search:
    """A flip has as few edits as any that `world.edits` knows, unless there were more scenes than judgements.

    Without a flip, `complete` says that there is none with up to `most_edits`; otherwise the judgements were used up.
    """

    flip: Flip | None
    judgements: int
    complete: bool
    verdict: Verdict  # on the scene as it is

    def to_json(self) -> dict[str, Any]:
        """Returns the verdict with its attention, what would change it, and how much was searched."""
        return {
            "verdict": self.verdict.to_json(attention=True),
            "counterfactual": None if self.flip is None else self.flip.to_json(),
            "searched": {"judgements": self.judgements, "complete": self.complete},
        }


@dataclass(frozen=True)
class Explanation:
    world: World
    scene: Scene  # that was judged; of a picture, what was seen in it
    search: Search
    reads_items: bool  # otherwise order and attention, if any, are not about items

    def to_json(self) -> dict[str, Any]:
        """Returns what the service does: `verdict`, `counterfactual`, `searched`, and the `scene` they refer to."""
        return {**self.search.to_json(), "scene": self.world.to_json_scene(self.scene)}

    @property
    def text(self) -> str:
        """Plain English, in several lines."""
        boxes = [line for number, box in enumerate(self.scene.boxes) for line in self._box(number, box)]
        verdict = self.search.verdict
        if not verdict.understood:
            return f"not understood: not read as a statement about a scene of {self.world.name}"
        read = [] if verdict.reading is None else [f"  read as: {verdict.reading}"]
        return "\n".join([_said(verdict.probability), *read, *boxes, self._counterfactual()])

    @property
    def svg(self) -> str:
        """Draws the scene with the order in which it was read and, below it, the scene after the edits."""
        scenes = [drawing.svg(self.world, self.scene, self.search.verdict.order if self.reads_items else None)]
        if self.search.flip is not None:
            scenes.append(drawing.svg(self.world, self.search.flip.scene))
        place = drawing.arrange(self.world, len(self.scene.boxes))
        step = place.height + BETWEEN
        placed = (f'<g transform="translate(0 {step * row})">{scene}</g>' for row, scene in enumerate(scenes))
        size = f"0 0 {place.width} {step * len(scenes) - BETWEEN}"
        return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{size}">{"".join(placed)}</svg>'

    def _box(self, number: int, box: Box) -> Iterator[str]:
        verdict, names = self.search.verdict, [item_name(self.world, item, box.items) for item in box.items]
        facts = [] if verdict.per_box is None else [f"{verdict.per_box[number]:.3f}"]
        if self.reads_items and verdict.order is not None:
            how = "in the order chosen" if verdict.order_is_chosen else "as they came"
            names_read = [names[index] for index in verdict.order[number]]
            facts.append(f"{self.world.item.plural} {how}: {', '.join(names_read)}" if names_read else "empty")
        place = f"{self.world.box.singular} {number + 1}"
        yield f"  {place}: {', '.join(facts)}" if facts else f"  {place}"
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
    progress: Progress = silent,
) -> Explanation:
    """Judges the question and searches for the fewest edits that flip the verdict (`find_flip`).

    Of a picture, the scene that is seen in it is explained. Raises InputError if no scene can be seen.
    """
    question = judge.prepare(question)
    if isinstance(judge, EyesJudge):
        (scene,) = judge.see([question])
        if isinstance(scene, InputError):
            raise scene
        question, judge = Question(question.statement, scene), judge.judge
    elif question.picture is not None:
        decode = worlds.require(judge.world, "decode", "pictures that can be decoded")
        question = Question(question.statement, decode(question.picture))
    assert question.scene is not None
    search = find_flip(judge, question, most_edits=most_edits, most_judgements=most_judgements, progress=progress)
    return Explanation(judge.world, question.scene, search, Input.ITEMS in judge.encoder.inputs)


@dataclass(frozen=True)
class _Candidate:
    scene: Scene
    edits: tuple[Edit, ...]
    gain: float  # in log odds, towards the other verdict: measured if judged, else the sum of its edits' own gains


def find_flip(
    judge: Judge,
    question: Question,
    *,
    most_edits: int = 2,
    most_judgements: int = 1000,
    progress: Progress = silent,
) -> Search:
    """Searches breadth first: scenes with n + 1 edits are judged only if all those with n edits leave the verdict.

    Single edits are judged from the smallest change to the largest, several edits from the most promising on: those
    that change the truth of the program that was read, then those with the largest gains. If a program was read, some
    judgements are kept for several edits. The search ends with the first group that has a clear flip. The result is
    the same each time.
    """
    if question.scene is None:
        raise InputError("has no scene to edit", where="question", allowed="give a scene, not a picture")
    for name, value in (("most_edits", most_edits), ("most_judgements", most_judgements)):
        if value < 1:
            raise InputError(f"{name}={value}", allowed="it must be at least 1")
    verdict, judged = judge(question), 1
    if not verdict.understood:
        return Search(None, judged, True, verdict)
    towards_flip = -1 if verdict.verdict else 1
    program = judge.program(question.statement)
    if program is not None and program.holds(question.scene) != verdict.verdict:
        program = None  # the verdict does not follow what was read

    def is_kept(candidate: _Candidate) -> bool:
        return program is None or program.holds(candidate.scene) == verdict.verdict

    seen, gains, is_complete = {_key(question.scene)}, dict[Edit, float](), True
    parents = [_Candidate(question.scene, (), 0.0)]
    for size in range(1, most_edits + 1):
        left = most_judgements - judged
        most = (CANDIDATES_PER_JUDGEMENT if program is None else READ_PER_JUDGEMENT) * left
        candidates, are_all = _expand(judge.world, parents, gains, seen, most=most, changes_first=program is not None)
        if program is not None and size < most_edits:
            left -= min(STREAM_BATCH, left // 2)
        parents, flips = [], list[Flip]()
        if size == 1:
            candidates.sort(key=_cost)
            # Sorted only when their turn comes: executing the program on every edit takes longer than most searches.
            groups: Iterable[list[_Candidate]] = (sorted(group, key=is_kept) for _, group in groupby(candidates, _cost))
        else:
            candidates.sort(key=lambda candidate: (is_kept(candidate), -candidate.gain, _cost(candidate)))
            groups = (candidates[n : n + STREAM_BATCH] for n in range(0, len(candidates), STREAM_BATCH))
        for group in groups:
            if not left:
                break
            asked = group[:left]
            left -= len(asked)
            verdicts = judge.stream(Question(question.statement, candidate.scene) for candidate in asked)
            for candidate, found in zip(asked, map(checked, verdicts), strict=True):
                gain = towards_flip * (_log_odds(found) - _log_odds(verdict))
                parents.append(replace(candidate, gain=gain))
                if found.verdict != verdict.verdict:
                    flips.append(Flip(judge.world, candidate.scene, candidate.edits, found))
            judged += len(asked)
            progress(judged, most_judgements)
            if any(_clarity(flip) >= CLEAR for flip in flips):
                break
        if flips:
            return Search(min(flips, key=_preference), judged, True, verdict)
        is_complete = is_complete and are_all and len(parents) == len(candidates)
        if not is_complete and (program is None or judged == most_judgements):
            return Search(None, judged, False, verdict)
        if size == 1:
            gains = {candidate.edits[0]: candidate.gain for candidate in parents}
        parents.sort(key=lambda candidate: -candidate.gain)
    return Search(None, judged, is_complete, verdict)


def _expand(
    world: World,
    parents: Sequence[_Candidate],
    gains: Mapping[Edit, float],
    seen: set[_Shown],
    *,
    most: int,
    changes_first: bool,
) -> tuple[list[_Candidate], bool]:
    """The scenes one edit away from the parents and not seen before, and whether these are all of them: parents are
    left out when there are many more candidates than the judgements that can be afforded.

    With `changes_first`, up to half of them only change values (as in recolouring two items), whatever their gains: a
    model that answers by a program may see no gain in the first of two edits.
    """
    found: list[_Candidate] = []

    def add(parent: _Candidate, *, only_changes: bool) -> None:
        for edit, scene in edits(world, parent.scene, only_changes=only_changes):
            key = _key(scene)
            if key not in seen:
                seen.add(key)
                found.append(_Candidate(scene, (*parent.edits, edit), parent.gain + gains.get(edit, 0.0)))

    changed = [parent for parent in parents if parent.edits and all(edit.kind == "change" for edit in parent.edits)]
    for parent in changed if changes_first else ():
        if len(found) < most // 2:
            add(parent, only_changes=True)
    for parent in parents:
        if len(found) >= most:
            return found, False
        add(parent, only_changes=False)
    return found, True


def _key(scene: Scene) -> _Shown:
    return tuple(frozenset(box.items) for box in scene.boxes)


def _log_odds(verdict: Verdict) -> float:
    probability = min(max(verdict.probability, 1e-12), 1 - 1e-12)
    return log(probability / (1 - probability))


def _clarity(flip: Flip) -> float:
    return abs(flip.verdict.probability - 0.5)


def _preference(flip: Flip) -> tuple[bool, int, Number, float]:
    """Orders flips: clear ones first, then the smallest change, the shortest moves, and the clearest."""
    moves = [edit for edit in flip.edits if edit.kind == "move"]
    distance = sum(abs(e.after.x - e.before.x) + abs(e.after.y - e.before.y) for e in moves if e.before and e.after)
    return _clarity(flip) < CLEAR, _cost(flip), distance, -_clarity(flip)


def _cost(edited: _Candidate | Flip) -> int:
    return sum(edit.cost for edit in edited.edits)


def _said(probability: float) -> str:
    return f"{'true' if probability > 0.5 else 'false'} (probability {probability:.3f})"
