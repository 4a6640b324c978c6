"""What the routes of the HTTP API do: JSON objects in, JSON objects out. Knows nothing about HTTP."""

from __future__ import annotations

import asyncio
import base64
import random
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from veriscene import worlds
from veriscene.data.eyes import PictureReader
from veriscene.english import grammar
from veriscene.english.words import real_words
from veriscene.errors import InputError, located
from veriscene.judge import load_eyes
from veriscene.judge.explain import explain
from veriscene.judge.judge import Judge, Question, Verdict
from veriscene.judge.question import parse_image
from veriscene.service.batching import Batcher, Busy, Jobs, Limits
from veriscene.service.middleware import Metrics
from veriscene.world import drawing
from veriscene.world.examples import Example
from veriscene.world.random_scenes import random_scene
from veriscene.world.scene import Scene
from veriscene.world.schema import World, not_allowed
from veriscene.world.world_file import to_tree

Record = Mapping[str, Any]
FORMATS = ("png", "svg")
SHIPPED_EXAMPLES = 8  # of a world, if the user gives none
STATEMENTS_TRIED, MAX_WORDS = 500, 10  # of the grammar, to find a plain one that is true, or false, as it should be


class Service:
    """Judges by name, the first of which is the default, and what they need to answer many clients at once.

    `examples` are those that the page shows; a few are generated for a world that has none.
    """

    def __init__(self, judges: Mapping[str, Judge], *, limits: Limits, examples: Sequence[Example] = ()) -> None:
        self.limits, self.metrics = limits, Metrics()
        self.arriving = 0  # bytes of requests
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
            shown = _example(world, each.statement, each.scene, each.label)
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
        world, kind = self._batcher(record).judge.world, record.get("format", "png")

        def draw() -> dict[str, str]:
            with _locating(record):
                scene = world.parse(record.get("scene"))
            return render(world, scene, kind)

        return await self.jobs.run(draw)

    async def decode(self, record: Record) -> dict[str, Any]:
        world, with_eyes = self._batcher(record).judge.world, _flag(record, "eyes", default=True)
        image = record.get("image")
        return {"scene": await self.jobs.run(lambda: read_picture(world, image, with_eyes=with_eyes))}

    async def random_scene(self, record: Record) -> dict[str, Any]:
        judge, kind = self._batcher(record).judge, record.get("kind")
        rng = random.Random(self._rng.getrandbits(64))  # one per job: they run in threads
        return await self.jobs.run(lambda: draw_example(judge, rng, kind))

    async def example(self, record: Record) -> dict[str, Any]:
        judge = self._batcher(record).judge
        world = judge.world.name
        if world not in self._examples:
            rng = random.Random(1)
            drawn = await self.jobs.run(lambda: [draw_example(judge, rng) for _ in range(SHIPPED_EXAMPLES)])
            self._examples.setdefault(world, drawn)
        return self._rng.choice(self._examples[world])

    async def world(self, record: Record) -> dict[str, Any]:
        """Returns the world's tables, as in a world file, and what can be done in it besides editing scenes."""
        world = self._batcher(record).judge.world
        return {**to_tree(world), "abilities": {"pictures": worlds.ability(world, "decode") is not None}}

    async def models(self, record: Record) -> dict[str, Any]:
        default = next(iter(self.batchers))
        judges = {name: batcher.judge for name, batcher in self.batchers.items()}
        listed = [
            {"name": name, **judge.describe(), "world": judge.world.name, "default": name == default}
            for name, judge in judges.items()
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


# ---------------------------------------------------------------- scenes of a world


def render(world: World, scene: Scene, kind: object) -> dict[str, str]:
    """Returns a picture of the scene: `image`, the base64 text of a PNG file, or `svg`."""
    if kind not in FORMATS:
        raise not_allowed(kind, f"choose from {', '.join(FORMATS)}").at("format")
    if kind == "svg":
        return {"svg": drawing.svg(world, scene)}
    draw = worlds.ability(world, "png")
    if draw is None:
        raise InputError(f"the world {world.name} has no exact pictures", where="format", allowed="choose svg")
    return {"image": base64.b64encode(draw(scene)).decode("ascii")}


def read_picture(world: World, image: object, *, with_eyes: bool) -> list[Any]:
    """Returns the scene in the base64 text of a PNG or JPEG file; without eyes, it must be exactly a rendered one."""
    pixels = parse_image(image, world)
    with located("image"):
        decode = worlds.require(world, "decode", "pictures that can be decoded")
        scene = _eyes().scenes([pixels])[0] if with_eyes else decode(pixels)
    return world.to_json_scene(scene)


def draw_example(judge: Judge, rng: random.Random, kind: str | None = None) -> dict[str, Any]:
    """Returns a random scene with a statement about it, and whether it is true.

    The scene was made such that the statement may well be false. `kind` is one of the world's kinds of scenes. In a
    world without statements of its own, the grammar makes one for a judge that reads plain English; for others there is
    a scene only.
    """
    world = judge.world
    draw = worlds.ability(world, "draw_example")
    if draw is not None:
        return _example(world, *draw(rng, kind))
    if kind is not None:
        raise not_allowed(kind, f"the world {world.name} has one kind of scenes").at("kind")
    if judge.reader is not None:
        real, truth = real_words(world), rng.random() < 0.5
        for _ in range(STATEMENTS_TRIED):
            statement, scene = grammar.draw(rng, worlds.language(world)), random_scene(world, rng)
            words = re.findall(r"[^\W\d_]+", statement.text.lower())
            if len(words) <= MAX_WORDS and real.issuperset(words) and statement.program.holds(scene) == truth:
                return _example(world, statement.text, scene, truth)
    return _example(world, None, random_scene(world, rng), None)


def _example(world: World, statement: str | None, scene: Scene, label: bool | None) -> dict[str, Any]:
    return {"statement": statement, "scene": world.to_json_scene(scene), "label": label}


@cache
def _eyes() -> PictureReader:
    return load_eyes()


# ---------------------------------------------------------------- errors and fields


def problem(error: InputError) -> dict[str, str]:
    """Returns the field of the request that an error is about (`scene.box 2.item 1.x_loc`), and the message."""
    return {"field": ".".join(_parts(error)), "message": str(InputError(error.what, allowed=error.allowed))}


def _parts(error: InputError) -> list[str]:
    return [] if error.where is None else re.split(", |: ", str(error.where))


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
    field, parts = "image" if "image" in record else "scene", _parts(error)
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
