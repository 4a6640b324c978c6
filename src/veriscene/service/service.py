"""What the routes of the HTTP API do: JSON objects in, JSON objects out. Knows nothing about HTTP."""

from __future__ import annotations

import asyncio
import random
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from veriscene import worlds
from veriscene.errors import InputError
from veriscene.judge.explain import explain
from veriscene.judge.judge import Judge, Question, Verdict
from veriscene.service import scenes
from veriscene.service.batching import Batcher, Busy, Jobs, Limits
from veriscene.service.middleware import Metrics
from veriscene.world.examples import Example
from veriscene.world.schema import not_allowed

Record = Mapping[str, Any]
SHIPPED_EXAMPLES = 8  # of a world, if the user gives none


class Service:
    """Judges by name, the first of which is the default, and what they need to answer many clients at once.

    `examples` are those that the page shows; a few are generated for a world that has none.
    """

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
        self._examples: dict[str, list[dict[str, Any]]] = {}
        for each in examples:
            world = worlds.of_example(each)
            shown = scenes.to_json(world, each.statement, each.scene, each.label)
            self._examples.setdefault(world.name, []).append(shown)

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
            return self._question(batcher.judge, record)

        question = await self.jobs.run(read) if "image" in record else read()
        (future,) = batcher.submit([question])
        with _locating(record):
            verdict = await asyncio.wrap_future(future)
        return verdict.to_json(attention=attention)

    async def judge_many(self, record: Record) -> dict[str, Any]:
        """Verdicts keep their places. In the place of a question that cannot be judged is the error."""
        batcher, asked = self._batcher(record), record.get("questions")
        if not isinstance(asked, list) or not 1 <= len(asked) <= self.limits.questions:
            shown = f"{len(asked)} questions" if isinstance(asked, list) else asked
            allowed = f"it must be a list of 1 to {self.limits.questions} questions"
            raise not_allowed(shown, allowed).at("questions")

        def read(each: Record) -> Question | InputError:
            try:
                return self._question(batcher.judge, each)
            except InputError as error:
                return error

        read_all = await self.jobs.run(lambda: [read(each) for each in asked])
        futures = batcher.submit([each for each in read_all if not isinstance(each, InputError)])
        try:
            found = await asyncio.gather(*map(asyncio.wrap_future, futures), return_exceptions=True)
        finally:
            for future in futures:  # those that wait need not be judged if the client has gone
                future.cancel()
        judged = iter(found)
        answers = []
        for each, question in zip(asked, read_all, strict=True):
            result = question if isinstance(question, InputError) else next(judged)
            if isinstance(result, Verdict):
                answers.append(result.to_json())
            elif isinstance(result, InputError):
                answers.append({"error": problem(_located(result, each))})
            else:
                raise result
        return {"verdicts": answers}

    async def explain(self, record: Record) -> dict[str, Any]:
        judge = self._batcher(record).judge
        abandoned = threading.Event()

        def check(done: int, total: int) -> None:
            if abandoned.is_set():
                raise Busy("nobody waits for the answer")

        def search() -> dict[str, Any]:
            with _locating(record):
                question = self._read(judge, record)
                return explain(judge, question, most_judgements=self.limits.judgements, progress=check).to_json()

        try:
            return await self.jobs.run(search)
        finally:
            abandoned.set()

    # ---------------------------------------------------------------- scenes

    async def render(self, record: Record) -> dict[str, Any]:
        judge, kind = self._batcher(record).judge, record.get("format", "png")

        def draw() -> dict[str, Any]:
            with _locating(record):
                scene = scenes.parse(judge, record.get("scene"))
            return scenes.render(judge, scene, kind)

        return await self.jobs.run(draw)

    async def decode(self, record: Record) -> dict[str, Any]:
        judge, with_eyes = self._batcher(record).judge, _flag(record, "eyes", default=True)
        image = record.get("image")
        return {"scene": await self.jobs.run(lambda: scenes.read_picture(judge, image, with_eyes=with_eyes))}

    async def random_scene(self, record: Record) -> dict[str, Any]:
        judge, kind = self._batcher(record).judge, record.get("kind")
        rng = random.Random(self._rng.getrandbits(64))  # one per job: they run in threads
        return await self.jobs.run(lambda: scenes.draw_example(judge, rng, kind))

    async def example(self, record: Record) -> dict[str, Any]:
        judge = self._batcher(record).judge
        world = scenes.world_tree(judge)["name"]
        if world not in self._examples:
            rng = random.Random(1)
            drawn = await self.jobs.run(lambda: [scenes.draw_example(judge, rng) for _ in range(SHIPPED_EXAMPLES)])
            self._examples.setdefault(world, drawn)
        return self._rng.choice(self._examples[world])

    async def world(self, record: Record) -> dict[str, Any]:
        judge = self._batcher(record).judge
        return {**scenes.world_tree(judge), "abilities": scenes.abilities(judge)}

    async def models(self, record: Record) -> dict[str, Any]:
        default = next(iter(self.batchers))
        listed = [
            {
                "name": name,
                **batcher.judge.describe(),
                "world": scenes.world_tree(batcher.judge)["name"],
                "default": name == default,
            }
            for name, batcher in self.batchers.items()
        ]
        return {"models": listed}

    # ---------------------------------------------------------------- fields of a request

    def _batcher(self, record: Record) -> Batcher:
        name = record.get("model", next(iter(self.batchers)))
        if not isinstance(name, str) or name not in self.batchers:
            raise not_allowed(name, f"choose from {', '.join(self.batchers)}").at("model")
        return self.batchers[name]

    def _question(self, judge: Judge, record: object) -> Question:
        """Returns the question in the form that the judge reads."""
        with _locating(record):
            return judge.prepare(self._read(judge, record))

    def _read(self, judge: Judge, record: object) -> Question:
        question = Question.from_json(record, judge.world)
        if len(question.statement) > self.limits.letters:
            raise InputError("is too long", where="statement", allowed=f"at most {self.limits.letters} letters")
        return question


def problem(error: InputError) -> dict[str, str]:
    """Returns the field of the request that an error is about (`scene.box 2.item 1.x_loc`), and the message."""
    parts = [] if error.where is None else re.split(", |: ", str(error.where))
    return {
        "field": ".".join(parts),
        "message": f"{error.what}; {error.allowed}" if error.allowed else error.what,
    }


@contextmanager
def _locating(record: object) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        raise _located(error, record) from None


def _located(error: InputError, record: object) -> InputError:
    """Returns the error with a place that begins with a field of the request.

    The judge and its world name the picture, the world's own name for scenes, or a box.
    """
    if not isinstance(record, Mapping):
        return error
    field = "image" if "image" in record else "scene"
    parts = [] if error.where is None else re.split(", |: ", str(error.where))
    if not parts:
        parts = [field]
    elif parts[0] not in ("statement", "image", "scene"):
        is_alias = not re.search(r"\d", parts[0])  # boxes are numbered
        parts = [field, *parts[1:]] if is_alias else [field, *parts]
    return InputError(error.what, where=": ".join(parts), allowed=error.allowed)


def _flag(record: Record, name: str, *, default: bool) -> bool:
    value = record.get(name, default)
    if not isinstance(value, bool):
        raise not_allowed(value, "it must be true or false").at(name)
    return value
