"""What a judge is asked: a statement about a scene or about a picture of one."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from veriscene.errors import InputError
from veriscene.world.scene import Scene, not_allowed, parse_scene
from veriscene.worlds.nlvr import picture
from veriscene.worlds.nlvr.corpus import Example, check_statement
from veriscene.worlds.nlvr.raster import Pixels


@dataclass(frozen=True)
class Question:
    """A statement about a scene or about a picture: (height, width, RGB), uint8, of any size.

    Raises InputError unless the statement is text that a model can judge and there is a Scene or a picture, not both.
    """

    statement: str
    scene: Scene | None = None
    picture: Pixels | None = None

    def __post_init__(self) -> None:
        _check_statement(self.statement)
        if self.picture is None and not isinstance(self.scene, Scene):
            raise not_allowed(self.scene, "it must be a Scene; Question.of also takes lists of items").at("scene")
        if self.picture is not None and self.scene is not None:
            raise InputError("a question has a scene and a picture", allowed="give one of them")
        if self.picture is not None:
            array = self.picture
            if not isinstance(array, np.ndarray) or array.dtype != np.uint8 or array.ndim != 3 or array.shape[2] != 3:
                raise InputError("not a picture", allowed="it must be an array (height, width, 3) of uint8").at(
                    "picture"
                )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Question) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[object, ...]:
        """Its value; arrays can be neither compared nor hashed."""
        picture = None if self.picture is None else (self.picture.shape, self.picture.tobytes())
        return self.statement, self.scene, picture

    @classmethod
    def of(cls, statement: Any, scene: Any) -> Question:
        """The scene is a Scene, NLVR's `structured_rep` or a picture; raises InputError if either is malformed."""
        if isinstance(scene, np.ndarray):
            return cls(statement, picture=scene)
        if not isinstance(scene, Scene):
            _check_statement(statement)  # so that errors come in the order of the arguments
            scene = parse_scene(scene)
        return cls(statement, scene)

    @classmethod
    def about(cls, example: Example) -> Question:
        """Whether the example's statement is true of its picture, if it has one, else of its scene."""
        if isinstance(example.picture, Path):
            return cls(example.statement, picture=picture.of_any_size(example.picture))
        return cls(example.statement, example.scene if example.picture is None else None, example.picture)

    @classmethod
    def from_json(cls, record: object) -> Question:
        """An object with `statement` (or NLVR's `sentence`) and `scene` (or `structured_rep`), or with `image`, the
        base64 text of a PNG or JPEG file, in place of the scene."""
        if not isinstance(record, Mapping):
            raise InputError("not a JSON object", allowed="a question is an object with statement and scene")
        statement = record.get("statement", record.get("sentence"))
        scene = record.get("scene", record.get("structured_rep"))
        if "image" not in record:
            return cls.of(statement, scene)
        if scene is not None:
            raise InputError("a question has a scene and an image", allowed="give one of them")
        return cls(statement, picture=parse_image(record["image"]))


def parse_image(value: object) -> Pixels:
    """The picture in the base64 text of a PNG or JPEG file; raises InputError if there is none."""
    try:
        if not isinstance(value, str):
            raise not_allowed(value, "it must be the base64 text of a PNG or JPEG file")
        return picture.from_bytes(base64.b64decode(value, validate=True))
    except ValueError:
        raise InputError("not base64", where="image") from None
    except InputError as error:
        raise error.at("image") from None


def _check_statement(statement: object) -> None:
    try:
        check_statement(statement)
    except InputError as error:
        raise error.at("statement") from None
