"""What would change the verdict: the fewest edits of a scene that flip it, found by judging edited scenes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import log
from typing import Any

from veriscene.errors import InputError
from veriscene.judge.judge import STREAM_BATCH, Judge, Question, Verdict
from veriscene.world import moves as scene_moves
from veriscene.world.edit import Edit as Edit
from veriscene.world.scene import Item, Scene, scene_to_json

# How much of a change an edit is, the smallest first; among moves, the shortest.
COST = {"recolor": 0, "reshape": 1, "resize": 2, "move": 3, "remove": 4, "add": 5}
CLEAR = 0.1  # A flip whose probability is this far from 0.5 is preferred to smaller but closer ones.
CANDIDATES_PER_JUDGEMENT = 16  # scenes with several edits that are compared by what is expected of them, per judgement
_Shown = tuple[frozenset[Item], ...]  # what a scene shows, whatever the order of its items


@dataclass(frozen=True)
class Flip:
    scene: Scene  # after the edits
    edits: tuple[Edit, ...]  # one after the other; each refers to the scene that those before it lead to
    verdict: Verdict  # on the edited scene

    @property
    def text(self) -> str:
        return ", then ".join(edit.text for edit in self.edits)

    def to_json(self) -> dict[str, Any]:
        return {
            "scene": scene_to_json(self.scene),
            "edits": [edit.to_json() for edit in self.edits],
            "verdict": self.verdict.to_json(),
            "text": self.text,
        }


@dataclass(frozen=True)
class Search:
    """A flip has as few edits as any that `scene_moves` knows.

    Without a flip, `complete` says that there is none with up to `most_edits`; otherwise the judgements were used up.
    """

    flip: Flip | None
    judgements: int
    complete: bool
    verdict: Verdict  # on the scene as it is

    def to_json(self) -> dict[str, Any]:
        """The verdict with its attention, what would change it, and how much was searched."""
        return {
            "verdict": self.verdict.to_json(attention=True),
            "counterfactual": None if self.flip is None else self.flip.to_json(),
            "searched": {"judgements": self.judgements, "complete": self.complete},
        }


@dataclass(frozen=True)
class _Candidate:
    scene: Scene
    edits: tuple[Edit, ...]
    gain: float  # in log odds, towards the other verdict: measured if judged, else the sum of its edits' own gains

    @property
    def cost(self) -> int:
        return sum(COST[edit.kind] for edit in self.edits)


def find_flip(
    judge: Judge,
    question: Question,
    *,
    most_edits: int = 2,
    most_judgements: int = 1000,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Search:
    """Searches breadth first: scenes with n + 1 edits are judged only if all those with n edits leave the verdict.

    Single edits are judged from the smallest change to the largest, several edits from the most promising on. The
    search ends with the first group that has a clear flip. The result is the same each time.
    """
    if question.scene is None:
        raise InputError("has no scene to edit", where="question", allowed="give a scene, not a picture")
    for name, value in (("most_edits", most_edits), ("most_judgements", most_judgements)):
        if value < 1:
            raise InputError(f"{name}={value}", allowed="it must be at least 1")
    verdict, judged = judge(question), 1
    towards_flip = -1 if verdict.verdict else 1
    seen, gains = {_key(question.scene)}, dict[Edit, float]()
    parents = [_Candidate(question.scene, (), 0.0)]
    for size in range(1, most_edits + 1):
        candidates, are_all = _expand(parents, gains, seen, most=most_judgements - judged)
        parents, flips = [], list[Flip]()
        for group in _by_cost(candidates) if size == 1 else _by_gain(candidates):
            asked = group[: most_judgements - judged]
            verdicts = judge.stream(Question(question.statement, candidate.scene) for candidate in asked)
            for candidate, found in zip(asked, verdicts, strict=True):
                gain = towards_flip * (_log_odds(found) - _log_odds(verdict))
                parents.append(replace(candidate, gain=gain))
                if found.verdict != verdict.verdict:
                    flips.append(Flip(candidate.scene, candidate.edits, found))
            judged += len(asked)
            progress(judged, most_judgements)
            if any(_clarity(flip) >= CLEAR for flip in flips):
                break
        if flips:
            return Search(min(flips, key=_preference), judged, True, verdict)
        if not are_all or len(parents) < len(candidates):
            return Search(None, judged, False, verdict)
        if size == 1:
            gains = {candidate.edits[0]: candidate.gain for candidate in parents}
        parents.sort(key=lambda candidate: -candidate.gain)
    return Search(None, judged, True, verdict)


def _expand(
    parents: Sequence[_Candidate], gains: Mapping[Edit, float], seen: set[_Shown], *, most: int
) -> tuple[list[_Candidate], bool]:
    """The scenes one edit away from the parents and not seen before, and whether these are all of them: parents are
    left out when there are many more candidates than the judgements that can be afforded."""
    found: list[_Candidate] = []
    for parent in parents:
        if len(found) >= CANDIDATES_PER_JUDGEMENT * most:
            return found, False
        for edit, scene in scene_moves.edits(parent.scene):
            key = _key(scene)
            if key not in seen:
                seen.add(key)
                found.append(_Candidate(scene, (*parent.edits, edit), parent.gain + gains.get(edit, 0.0)))
    return found, True


def _by_cost(candidates: list[_Candidate]) -> Iterator[list[_Candidate]]:
    for _, group in groupby(sorted(candidates, key=lambda candidate: candidate.cost), lambda candidate: candidate.cost):
        yield list(group)


def _by_gain(candidates: list[_Candidate]) -> Iterator[list[_Candidate]]:
    ranked = sorted(candidates, key=lambda candidate: (-candidate.gain, candidate.cost))
    for start in range(0, len(ranked), STREAM_BATCH):
        yield ranked[start : start + STREAM_BATCH]


def _key(scene: Scene) -> _Shown:
    return tuple(frozenset(box.items) for box in scene.boxes)


def _log_odds(verdict: Verdict) -> float:
    probability = min(max(verdict.probability, 1e-12), 1 - 1e-12)
    return log(probability / (1 - probability))


def _clarity(flip: Flip) -> float:
    return abs(flip.verdict.probability - 0.5)


def _preference(flip: Flip) -> tuple[bool, int, int, float]:
    """Clear flips first, then the smallest change, then the clearest."""
    cost = sum(COST[edit.kind] for edit in flip.edits)
    return _clarity(flip) < CLEAR, cost, sum(map(_distance, flip.edits)), -_clarity(flip)


def _distance(edit: Edit) -> int:
    if edit.before is None or edit.after is None or edit.kind != "move":
        return 0
    return abs(edit.after.x - edit.before.x) + abs(edit.after.y - edit.before.y)
