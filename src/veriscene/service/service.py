"""What the routes of the HTTP API do: JSON objects in, JSON objects out. Knows nothing about HTTP."""

from __future__ import annotations

import asyncio
import base64
import random
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from veriscene.errors import InputError
from veriscene.judge.explain import explain
from veriscene.judge.judge import Judge, Question
from veriscene.judge.question import parse_image
from veriscene.models.vision.eyes import Eyes
from veriscene.service.batching import Batcher
from veriscene.service.jobs import Jobs
from veriscene.service.limits import Busy, Limits
from veriscene.service.metrics import Metrics
from veriscene.world import drawing as render
from veriscene.world.scene import not_allowed, parse_scene, scene_to_json
from veriscene.worlds.nlvr import decode, picture, raster
from veriscene.worlds.nlvr.corpus import Example
from veriscene.worlds.nlvr.grammar import draw
from veriscene.worlds.nlvr.kinds import SCENE_KINDS
from veriscene.worlds.nlvr.near_miss import labelled_scenes

Record = Mapping[str, Any]
FORMATS = ("png", "svg")
SHIPPED_EXAMPLES = 8


class Service:
    """Judges by name, the first of which is the default, and what they need to answer many clients at once."""

    def __init__(self, judges: Mapping[str, Judge], *, limits: Limits, examples: Sequence[Example] = ()) -> None:
        self.limits, self.metrics = limits, Metrics()
        self.jobs = Jobs(threads=limits.workers, waiting=limits.jobs)
        self.batchers: dict[str, Batcher] = {}
        for name, judge in judges.items():
            observe = self.metrics.batches.labels(name).observe
            self.batchers[name] = Batcher(
                judge, batch=limits.batch, queue=limits.queue, workers=limits.workers, observe=observe
            )
            self.metrics.queue.labels(name).set_function(self.batchers[name].__len__)
        self._rng = random.Random()
        shipped = random.Random(1)
        self._examples = [(example.statement, example.scene, example.label) for example in examples] or [
            _draw_example(shipped, kind) for kind in SCENE_KINDS for _ in range(SHIPPED_EXAMPLES // len(SCENE_KINDS))
        ]
        self._eyes: Eyes | None = None

    @property
    def is_ready(self) -> bool:
        return all(batcher.is_ready for batcher in self.batchers.values())

    def close(self) -> None:
        """Answers what was accepted, and refuses the rest."""
        self.jobs.close()
        for batcher in self.batchers.values():
            batcher.close()

    # ---------------------------------------------------------------- verdicts

    async def judge(self, record: Record) -> dict[str, Any]:
        batcher, attention = self._batcher(record), _flag(record, "attention", default=False)

        def read() -> Question:
            return batcher.judge.prepare(self._question(record))

        question = await self.jobs.run(read) if "image" in record else read()
        (future,) = batcher.submit([question])
        try:
            verdict = await asyncio.wrap_future(future)
        except InputError as error:  # eyes recognise nothing
            raise error.at("image" if "image" in record else "scene") from None
        return verdict.to_json(attention=attention)

    async def judge_many(self, record: Record) -> dict[str, Any]:
        batcher, asked = self._batcher(record), record.get("questions")
        if not isinstance(asked, list) or not 1 <= len(asked) <= self.limits.questions:
            shown = f"{len(asked)} questions" if isinstance(asked, list) else asked
            allowed = f"it must be a list of 1 to {self.limits.questions} questions"
            raise not_allowed(shown, allowed).at("questions")

        def read() -> list[Question | InputError]:
            return [self._prepared(batcher.judge, each) for each in asked]

        questions = await self.jobs.run(read)
        futures = batcher.submit([question for question in questions if isinstance(question, Question)])
        try:
            answers = iter(await asyncio.gather(*map(asyncio.wrap_future, futures), return_exceptions=True))
        finally:
            for future in futures:  # those that wait need not be judged if the client has gone
                future.cancel()
        verdicts = []
        for question in questions:
            answer = question if isinstance(question, InputError) else next(answers)
            if isinstance(answer, BaseException) and not isinstance(answer, InputError):
                raise answer
            verdicts.append({"error": str(answer)} if isinstance(answer, InputError) else answer.to_json())
        return {"verdicts": verdicts}

    async def explain(self, record: Record) -> dict[str, Any]:
        judge, question = self._batcher(record).judge, self._question(record)
        if question.scene is None:
            raise InputError("a picture cannot be explained", where="image", allowed="send the scene; see /api/decode")
        abandoned = threading.Event()

        def check(done: int, total: int) -> None:
            if abandoned.is_set():
                raise Busy("nobody waits for the answer")

        most = self.limits.judgements
        try:
            found = await self.jobs.run(lambda: explain(judge, question, most_judgements=most, progress=check))
        finally:
            abandoned.set()
        return found.to_json()

    # ---------------------------------------------------------------- scenes

    async def render(self, record: Record) -> dict[str, Any]:
        scene, kind = parse_scene(record.get("scene")), record.get("format", "png")
        if kind not in FORMATS:
            raise not_allowed(kind, f"choose from {', '.join(FORMATS)}").at("format")
        if kind == "svg":
            return {"svg": render.svg(scene)}
        return {"image": base64.b64encode(picture.to_png(raster.pixels(scene))).decode("ascii")}

    async def decode(self, record: Record) -> dict[str, Any]:
        has_eyes = _flag(record, "eyes", default=True)

        def read() -> dict[str, Any]:
            pixels = parse_image(record.get("image"))
            try:
                scene = self._load_eyes().scenes([pixels])[0] if has_eyes else decode.scene(pixels)
            except InputError as error:
                raise error.at("image") from None
            return {"scene": scene_to_json(scene)}

        return await self.jobs.run(read)

    async def random_scene(self, kind: str | None) -> dict[str, Any]:
        if kind is not None and kind not in SCENE_KINDS:
            raise not_allowed(kind, f"choose from {', '.join(SCENE_KINDS)}").at("kind")
        rng = random.Random(self._rng.getrandbits(64))  # one per job: they run in threads
        example = await self.jobs.run(lambda: _draw_example(rng, kind or rng.choice(SCENE_KINDS)))
        return _example_to_json(*example)

    def example(self) -> dict[str, Any]:
        return _example_to_json(*self._rng.choice(self._examples))

    def models(self) -> dict[str, Any]:
        default = next(iter(self.batchers))
        listed = [
            {"name": name, **batcher.judge.describe(), "default": name == default}
            for name, batcher in self.batchers.items()
        ]
        return {"models": listed}

    # ---------------------------------------------------------------- fields of a request

    def _batcher(self, record: Record) -> Batcher:
        name = record.get("model", next(iter(self.batchers)))
        if not isinstance(name, str) or name not in self.batchers:
            raise not_allowed(name, f"choose from {', '.join(self.batchers)}").at("model")
        return self.batchers[name]

    def _question(self, record: object) -> Question:
        question = Question.from_json(record)
        if len(question.statement) > self.limits.letters:
            raise InputError("is too long", where="statement", allowed=f"at most {self.limits.letters} letters")
        return question

    def _prepared(self, judge: Judge, record: object) -> Question | InputError:
        try:
            return judge.prepare(self._question(record))
        except InputError as error:
            return error

    def _load_eyes(self) -> Eyes:
        if self._eyes is None:
            self._eyes = Eyes.load()
        return self._eyes


def _flag(record: Record, name: str, *, default: bool) -> bool:
    value = record.get(name, default)
    if not isinstance(value, bool):
        raise not_allowed(value, "it must be true or false").at(name)
    return value


def _draw_example(rng: random.Random, kind: str) -> tuple[str, Any, bool | None]:
    """A statement about scenes of that kind, with a scene where it may well be false, and its truth."""
    while True:
        statement = draw(rng)
        if statement.kind != kind:
            continue
        (scenes,) = labelled_scenes(np.random.default_rng(rng.getrandbits(64)), [statement])
        if scenes:
            return statement.text, *rng.choice(scenes)


def _example_to_json(statement: str, scene: Any, label: bool | None) -> dict[str, Any]:
    return {"statement": statement, "scene": scene_to_json(scene), "label": label}
