"""A judge of items that sees: `eyes` in front of any model that reads items."""

from __future__ import annotations

from veriscene.data.batch import required
from veriscene.data.encoder import Input
from veriscene.errors import InputError
from veriscene.judge.judge import Judge, Question, Verdict
from veriscene.models.vision.eyes import Eyes, resized
from veriscene.worlds.nlvr import raster

PIXELS = "-pixels"  # NAME-pixels is the model NAME with eyes


class EyesJudge(Judge):
    """Judges pictures of any size by the items recognised in them; a scene is rendered first.

    Order and attention of a verdict are those of the recognised items, which come from top to bottom.
    """

    def __init__(self, judge: Judge, eyes: Eyes) -> None:
        if Input.ITEMS not in judge.encoder.inputs:
            raise InputError("this model reads pixels itself", allowed="use it without eyes")
        self.judge, self.eyes = judge, eyes
        self.encoder, self.order = judge.encoder, judge.order

    def readable(self, question: Question) -> Question:
        if question.picture is not None:
            return Question(question.statement, picture=resized(question.picture))
        return Question(question.statement, picture=resized(raster.pixels(required(question.scene))))

    def _judge(self, questions: list[Question]) -> list[Verdict]:
        pictures = [question.picture for question in questions if question.picture is not None]
        scenes = self.eyes.scenes(pictures)
        return self.judge([Question(asked.statement, scene) for asked, scene in zip(questions, scenes, strict=True)])
