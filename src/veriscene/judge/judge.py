"""Is this statement true of this scene? One interface for the command line, Python, ONNX and a service.

>>> judge = veriscene.load("best")
>>> judge("There is a yellow circle.", scene).probability  # one question: a Verdict
>>> judge([("There is a yellow circle.", scene), ("", scene)])  # a list: a list, an InputError in second place
>>> for answer in judge(lines_to_come()): ...  # a generator: answers as it goes, in bounded memory
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any, TypeGuard, TypeVar, cast, overload

import numpy as np
from numpy.typing import NDArray

from veriscene import worlds
from veriscene.data.encoder import Encoded, Encoder, Input, Order
from veriscene.data.eyes import PictureReader, resized
from veriscene.data.reader import ProgramReader, split_words
from veriscene.data.vocabulary import SPECIAL, Vocabulary, tokenize
from veriscene.english.words import real_words
from veriscene.errors import InputError
from veriscene.judge.hub import HubMixin
from veriscene.judge.question import Attention, Pixels, Question, Verdict
from veriscene.judge.reading import with_reading
from veriscene.language.program import Program
from veriscene.world.examples import Example
from veriscene.world.scene import Box, Scene
from veriscene.world.schema import World

__all__ = [
    "Answer",
    "AnyQuestion",
    "Attention",
    "EyesJudge",
    "Judge",
    "Question",
    "ReaderJudge",
    "Verdict",
    "checked",
]

STREAM_BATCH = 64
MAPS = ("order", "alpha", "beta")
FIELDS = ("logits", "scores", *MAPS)  # of a Judgement: what a verdict is made of
Array = NDArray[Any]
T = TypeVar("T")
MATCH_DISTANCE = 10  # pixels that a recognised item may be away from the scene's, which are at least as large
MIN_LIKENESS = 0.75  # of a word that is offered in place of an unknown one

Shown = Scene | list[Any] | Pixels  # a scene, its boxes as in the world's files, or a picture (height, width, RGB)
AnyQuestion = Question | Example | tuple[str, Shown] | Mapping[str, Any]
Answer = Verdict | InputError  # to one question of several: InputError if that one is malformed


def checked(answer: Answer) -> Verdict:
    """Returns the verdict, or raises the error."""
    if isinstance(answer, InputError):
        raise answer
    return answer


class Judge(HubMixin, ABC):
    """Answers questions. Can be pickled.

    A question is a Question, an Example (whose label is ignored) or a pair (statement, scene). One that is malformed
    raises InputError if it is asked alone; among several, its answer is the InputError, and the others are judged.
    """

    encoder: Encoder
    order: Order  # of the model
    reader: ProgramReader | None = None
    name: str | None = None  # of the kind of model
    metrics: Mapping[str, Any] = {}  # that are recorded with it

    @property
    def world(self) -> World:
        """Returns the world of the scenes that it judges."""
        return self.encoder.world

    @overload
    def __call__(self, statement: str, scene: Shown) -> Verdict: ...
    @overload
    def __call__(self, statement: AnyQuestion) -> Verdict: ...
    @overload
    def __call__(self, statement: Sequence[AnyQuestion]) -> list[Answer]: ...
    @overload
    def __call__(self, statement: Iterator[AnyQuestion]) -> Iterator[Answer]: ...
    def __call__(
        self,
        statement: str | AnyQuestion | Sequence[AnyQuestion] | Iterator[AnyQuestion],
        scene: Shown | None = None,
    ) -> Verdict | list[Answer] | Iterator[Answer]:
        """Answers judge(statement, scene) or judge(question) with a verdict, judge([question, …]) with the list of
        answers, and judge(generator) with the answers as they come, which is `stream`.

            judge("There is a yellow circle.", scene)
            judge([("There is a yellow circle.", scene), ("There is a tower.", pixels)])
            judge(veriscene.read("dev.json"))
        """
        if isinstance(statement, str) or scene is not None:
            question = Question.of(statement, scene, self.world)
        elif isinstance(statement, Iterator):
            return self.stream(statement)
        elif isinstance(statement, Sequence) and not (isinstance(statement, tuple) and _is_one(statement)):
            return list(self.stream(cast(Sequence[AnyQuestion], statement)))
        else:
            question = self._question(statement)
        return checked(self._judge([self.prepare(question)])[0])

    def stream(
        self,
        questions: Iterable[AnyQuestion | InputError],
        *,
        batch: int = STREAM_BATCH,
        maps: bool = True,
        readings: bool = True,
    ) -> Iterator[Answer]:
        """Yields one answer for each question, in order; takes `batch` questions at a time, never all at once.

        Without `maps`, verdicts have neither attention nor order; without `readings`, they need not say what was read
        and whether it is disputed. Both save time. An InputError among the questions is its own answer. Large batches
        are faster: statements of one length share a run, and equal ones are read once.

            for answer in judge.stream(records, batch=2048, maps=False, readings=False): ...
        """
        if batch < 1:
            raise InputError(f"batch={batch}", allowed="it must be at least 1")
        waiting = iter(questions)
        while prepared := [self._prepared(question) for question in islice(waiting, batch)]:
            well_formed = [question for question in prepared if isinstance(question, Question)]
            answers = iter(self._judge(well_formed, maps=maps, readings=readings) if well_formed else [])
            for question in prepared:
                yield question if isinstance(question, InputError) else next(answers)

    def prepare(self, question: Question) -> Question:
        """Returns the question in the form that the model reads; raises InputError if it has none.

        A model of items gets the scene of which the picture is exactly the rendering. A model of pixels reads the
        picture, or the rendering of the scene.
        """
        if question.picture is None:
            return question
        try:
            if Input.ITEMS in self.encoder.inputs:
                decode = worlds.require(self.world, "decode", "pictures that can be decoded")
                return Question(question.statement, decode(question.picture))
            worlds.require(self.world, "check_picture", "pictures")(question.picture)
        except InputError as error:
            place = "picture" if error.where is None else f"picture, {error.where}"
            eyes = "try --eyes or a model NAME-pixels"
            allowed = eyes if error.allowed is None else f"{error.allowed}, or {eyes}"
            raise InputError(error.what, where=place, allowed=allowed) from None
        return question

    def unknown_words(self, statement: str) -> dict[str, list[str]]:
        """Returns the words of a statement that the judge does not know, each with the nearest that it knows."""
        vocabulary, reader = self.encoder.vocabulary, self.reader
        unknown = [
            word
            for word in dict.fromkeys(split_words(statement))
            if not (vocabulary.knows_word(word) or (reader is not None and reader.knows(word)))
        ]
        return {word: list(_nearest(word, self.offers)) for word in unknown}

    @cached_property
    def offers(self) -> tuple[str, ...]:
        """Returns the known words that are offered in place of unknown ones: none of the misspellings of a corpus."""
        real, words = real_words(self.world), self.encoder.vocabulary.words[len(SPECIAL) :]
        if self.reader is not None:
            return tuple(word for word in dict.fromkeys((*words, *self.reader.words)) if word in real)
        return tuple(word for word in words if word in real or not get_close_matches(word, real, n=1))

    def program(self, statement: str) -> Program | None:
        """Returns what the judge reads a statement as, if it has a reader and finds anything."""
        return None if self.reader is None else self.reader.read([statement])[0].program

    def describe(self) -> dict[str, str | float | None]:
        """Returns the kind of model behind the judge, its dev accuracy and supervision, as far as they are known."""
        known = {name: self.metrics.get(name) for name in ("dev_accuracy", "supervision")}
        return {"model": self.name, **known}

    @abstractmethod
    def _judge(self, questions: list[Question], *, maps: bool = True, readings: bool = True) -> Sequence[Answer]:
        """Answers questions that `prepare` returned; without `maps`, verdicts need no attention and no order, without
        `readings` neither reading nor `disputed`."""

    def _prepared(self, question: AnyQuestion | InputError) -> Question | InputError:
        if isinstance(question, InputError):
            return question
        try:
            return self.prepare(self._question(question))
        except InputError as error:
            error.__context__ = None  # which, as the traceback does, would keep the question's picture in memory
            return error.with_traceback(None)

    def _question(self, question: AnyQuestion) -> Question:
        if isinstance(question, Question):
            return question
        if isinstance(question, Example):
            return Question.about(question, self.world)
        if isinstance(question, Mapping):
            return Question.from_json(question, self.world)
        if not _is_pair(question):
            allowed = "give a Question, a pair (statement, scene), or both by name"
            raise InputError(f"not a question: {question!r:.60}", allowed=allowed)
        return Question.of(*question, self.world)

    def _encode(self, questions: list[Question]) -> Encoded:
        # A model of pixels does not read the scene of a question about a picture.
        nothing = Scene((Box(()),) * self.world.boxes[1])
        return self.encoder.arrays(
            [Example("0-0", asked.statement, asked.scene or nothing, picture=asked.picture) for asked in questions]
        )

    def _verdicts(self, questions: list[Question], encoded: Encoded, judged: Mapping[str, Array]) -> list[Verdict]:
        """Decodes a Judgement's FIELDS, without those that are None, into the verdicts on the questions of a batch."""
        positions = encoded.positions
        probabilities, scores = _sigmoid(judged["logits"]).tolist(), judged.get("scores")
        per_box = None if scores is None else _sigmoid(scores).tolist()
        verdicts = []
        for number, question in enumerate(questions):
            maps = {name: judged[name][number] for name in MAPS if name in judged}
            boxes = self.world.boxes[1] if question.scene is None else len(question.scene.boxes)
            if not maps:
                places = []
            elif positions is None:  # the objects are feature-map cells
                cells = np.arange(maps["alpha"].shape[-1] if "alpha" in maps else 0)
                places = [cells] * boxes
            else:
                assert question.scene is not None
                counts = [len(box.items) for box in question.scene.boxes]
                places = [at[:count] for at, count in zip(positions[number], counts, strict=False)]
            order, attention = _decode(question.statement, places, maps)
            verdict = Verdict(
                probability=probabilities[number],
                per_box=None if per_box is None else per_box[number][:boxes],
                order=order,
                attention=attention,
                unknown_words=self.unknown_words(question.statement),
                order_is_chosen=self.order is Order.CHOSEN,
                world=self.world,
            )
            verdicts.append(verdict)
        return verdicts


@lru_cache(maxsize=4096)
def _nearest(word: str, offers: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(get_close_matches(word, offers, n=3, cutoff=MIN_LIKENESS))


def _decode(
    statement: str, encoded: list[Array], maps: Mapping[str, Array]
) -> tuple[list[list[int]] | None, Attention | None]:
    """Returns order and attention of one question, in terms of the scene's own lists of items.

    `encoded` are, per box, the items' indices in the scene, as encoded.
    """
    alpha, beta = maps.get("alpha"), maps.get("beta")
    # What was read at each place, as an index into the scene's list.
    read = [at[maps["order"][box, : len(at)]] if "order" in maps else at for box, at in enumerate(encoded)]
    order = [each.tolist() for each in read] if "order" in maps else None
    if alpha is None and beta is None:
        return order, None
    words, places = tokenize(statement), [each.argsort() for each in read]
    long = len(words)
    attention = Attention(
        words=words,
        words_to_items=None if alpha is None else [alpha[b, :long].take(at, 1).tolist() for b, at in enumerate(places)],
        items_to_words=None if beta is None else [beta[b, at, :long].tolist() for b, at in enumerate(places)],
    )
    return order, attention


class NetworkJudge(Judge):
    """Judges with a network and, if it has a reader, statements in plain English by what they say."""

    @abstractmethod
    def run(self, encoded: Encoded, fields: Collection[str] = FIELDS) -> dict[str, Array]:
        """Returns these fields of the network's Judgement, those that it has."""

    def _by_network(self, questions: list[Question], fields: Collection[str] = FIELDS) -> list[Verdict]:
        """Returns the network's own verdicts, made of these fields."""
        encoded = self._encode(questions)
        return self._verdicts(questions, encoded, self.run(encoded, fields))

    def _judge(self, questions: list[Question], *, maps: bool = True, readings: bool = True) -> list[Verdict]:
        verdicts = self._by_network(questions, FIELDS if maps else [name for name in FIELDS if name not in MAPS])
        if self.reader is None:
            return verdicts
        statements = [asked.statement for asked in questions]
        is_new = {text: self.has_new_words(text) for text in dict.fromkeys(statements)}
        # Where the network decides alone, the program would only be told, and tell whether the reader disagrees.
        brief = set() if readings else {text for text, new in is_new.items() if not new}
        known = zip(statements, self.reader.read(statements, brief), strict=True)
        read = [each.in_brief() if text in brief else each for text, each in known]
        return [
            with_reading(verdict, question, reading, is_new=is_new[question.statement], is_told=readings)
            for verdict, question, reading in zip(verdicts, questions, read, strict=True)
        ]

    def has_new_words(self, statement: str) -> bool:
        """Returns whether the network does not know all words. One that reads letters knows misspelt words, too."""
        vocabulary = self.encoder.vocabulary
        unknown = [word for word in tokenize(statement) if not vocabulary.knows_word(word)]
        if Input.CHARACTERS in self.encoder.inputs:
            unknown = [word for word in unknown if not _nearest(word, vocabulary.words[len(SPECIAL) :])]
        return bool(unknown)


class ReaderJudge(Judge):
    """Judges by a reader alone, which executes what it understood: for worlds that no network knows."""

    reader: ProgramReader
    name, metrics = "reader", {"supervision": "synthetic"}

    def __init__(self, reader: ProgramReader) -> None:
        self.reader, self.order = reader, Order.NONE
        self.encoder = Encoder(Vocabulary((*SPECIAL, *reader.words)), reader.language.world)

    def _judge(self, questions: list[Question], *, maps: bool = True, readings: bool = True) -> list[Verdict]:
        read = self.reader.read([question.statement for question in questions])
        return [
            with_reading(
                Verdict(0.5, None, None, None, self.unknown_words(question.statement), world=self.world),
                question,
                reading,
                is_new=True,
                is_told=readings,
            )
            for question, reading in zip(questions, read, strict=True)
        ]


class EyesJudge(Judge):
    """Judges pictures of any size by the items that eyes recognise in them; a scene is rendered first."""

    def __init__(self, judge: Judge, eyes: PictureReader) -> None:
        if Input.ITEMS not in judge.encoder.inputs:
            raise InputError("this model reads pixels itself", allowed="use it without eyes")
        self.draw = worlds.require(judge.world, "pixels", "pictures, so eyes are of no use")
        self.judge, self.eyes = judge, eyes
        self.encoder, self.order = judge.encoder, judge.order
        self.name, self.metrics = f"eyes + {judge.name}", {"supervision": judge.metrics.get("supervision")}

    def prepare(self, question: Question) -> Question:
        """Returns the question with its picture in the size that eyes read; a scene stays, to tell the items."""
        return question if question.picture is None else replace(question, picture=resized(question.picture))

    def see(self, questions: Sequence[Question]) -> list[Scene | InputError]:
        """Returns the scene that is recognised for each prepared question; InputError where a box seems to be empty.

        If the question has a scene, the recognised items are listed as it lists them, those that it lacks at the end.
        """
        pictures = [
            resized(self.draw(question.scene)) if question.picture is None else question.picture
            for question in questions
        ]
        try:
            scenes = self.eyes.scenes(pictures)
        except InputError as error:
            if len(questions) == 1:
                return [error]
            return [seen for question in questions for seen in self.see([question])]
        return [
            scene if asked.scene is None else _listed_as(asked.scene, scene)
            for asked, scene in zip(questions, scenes, strict=True)
        ]

    def _judge(self, questions: list[Question], *, maps: bool = True, readings: bool = True) -> list[Answer]:
        seen = self.see(questions)
        found = [
            Question(asked.statement, scene)
            for asked, scene in zip(questions, seen, strict=True)
            if isinstance(scene, Scene)
        ]
        verdicts = iter(self.judge.stream(found, maps=maps, readings=readings))
        return [
            scene if isinstance(scene, InputError) else _about(asked.scene, scene, checked(next(verdicts)))
            for asked, scene in zip(questions, seen, strict=True)
        ]


def _listed_as(given: Scene, seen: Scene) -> Scene:
    """Returns the seen scene with its items in the order of the given ones that they match."""
    boxes = []
    for theirs, ours in zip(seen.boxes, given.boxes, strict=True):
        matches = _matches(theirs, ours)
        ranks = [len(ours.items) if match is None else match for match in matches]
        boxes.append(Box(tuple(theirs.items[item] for item in sorted(range(len(ranks)), key=ranks.__getitem__))))
    return Scene(tuple(boxes))


def _about(given: Scene | None, seen: Scene, verdict: Verdict) -> Verdict:
    """Returns the verdict on the seen scene with order and attention in terms of the given one, if there is one."""
    if given is None:
        return replace(verdict, seen=seen)
    order, attention = verdict.order, verdict.attention
    # Per box, the given item that each seen one is, and the seen item that each given one is; None if there is none.
    given_of = [_matches(theirs, ours) for ours, theirs in zip(given.boxes, seen.boxes, strict=True)]
    seen_of = [
        [matches.index(item) if item in matches else None for item in range(len(box.items))]
        for matches, box in zip(given_of, given.boxes, strict=True)
    ]
    if order is not None:
        order = [
            [item for place in places if (item := matches[place]) is not None]
            for places, matches in zip(order, given_of, strict=True)
        ]
    if attention is not None:
        to_items, to_words = attention.words_to_items, attention.items_to_words
        if to_items is not None:
            to_items = [[_take(row, box, 0.0) for row in rows] for rows, box in zip(to_items, seen_of, strict=True)]
        if to_words is not None:
            nothing = [0.0] * len(attention.words)
            to_words = [_take(rows, box, nothing) for rows, box in zip(to_words, seen_of, strict=True)]
        attention = Attention(attention.words, to_items, to_words)
    return replace(verdict, order=order, attention=attention)


def _take(values: Sequence[T], places: Sequence[int | None], missing: T) -> list[T]:
    return [missing if place is None else values[place] for place in places]


def _matches(seen: Box, given: Box) -> list[int | None]:
    """Returns, for each seen item, the given one that it is: the nearest, and each only once."""
    distances = sorted(
        (abs(ours.x - theirs.x) + abs(ours.y - theirs.y), i, k)
        for i, ours in enumerate(seen.items)
        for k, theirs in enumerate(given.items)
    )
    found: dict[int, int] = {}
    for distance, item, candidate in distances:
        if distance <= MATCH_DISTANCE and item not in found and candidate not in found.values():
            found[item] = candidate
    return [found.get(item) for item in range(len(seen.items))]


def _is_pair(value: object) -> TypeGuard[tuple[str, Shown]]:
    """Whether it is a statement and something else, which `Question.of` checks; two questions are not a pair."""
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        return False
    return not isinstance(value[0], Question | Example | Sequence) or isinstance(value[0], str)


def _is_one(value: tuple[Any, ...]) -> bool:
    """Whether a tuple is one question and not several: a pair, or a statement with too much."""
    return _is_pair(value) or (len(value) > 2 and isinstance(value[0], str))


def _sigmoid(logits: Array) -> Array:
    return 0.5 + 0.5 * np.tanh(np.asarray(logits, dtype=np.float64) / 2)  # cannot overflow
