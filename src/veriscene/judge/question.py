"""What a judge is asked, a statement about a scene or a picture, and what it answers.

`Question.from_json` and `Verdict.to_json` define the wire format.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veriscene import worlds
from veriscene.data.tables import plain
from veriscene.errors import InputError, located
from veriscene.world.examples import Example, check_statement
from veriscene.world.scene import Scene
from veriscene.world.schema import World, not_allowed

Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class Question:
    """Asks whether a statement is true of a scene or of a picture: (height, width, RGB), uint8, of any size.

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
            array, is_array = self.picture, isinstance(self.picture, np.ndarray)
            if is_array and array.ndim == 3 and array.shape[2] == 4 and (array[..., 3] == 255).all():
                array = array[..., :3]  # as `veriscene.pixels` draws it
                object.__setattr__(self, "picture", array)
            if not is_array or array.dtype != np.uint8 or array.ndim != 3 or array.shape[2] != 3:
                allowed = "it must be an array (height, width, RGB or opaque RGBA) of uint8"
                raise InputError("not a picture", where="picture", allowed=allowed)

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
    def of(cls, statement: Any, scene: Any, world: World) -> Question:
        """Builds a question from a statement and a Scene, the boxes of one as in the world's files, or a picture.

        Arrays of objects, into which pandas and pyarrow turn lists, are read as lists. Raises InputError if either
        argument is malformed.
        """
        if isinstance(scene, np.ndarray) and scene.dtype != object:
            return cls(statement, picture=scene)
        if not isinstance(scene, Scene):
            _check_statement(statement)  # so that errors come in the order of the arguments
            scene = world.parse(plain(scene))
        else:
            world.check(scene)
        return cls(statement, scene)

    @classmethod
    def about(cls, example: Example, world: World) -> Question:
        """Asks whether the example's statement is true of its picture, if it has one, else of its scene.

        An error about a picture file names it.
        """
        if isinstance(example.picture, Path):
            read = worlds.require(world, "picture_from_file", "pictures")
            return cls(example.statement, picture=read(example.picture))
        if example.picture is None:
            world.check(example.scene)
        return cls(example.statement, example.scene if example.picture is None else None, example.picture)

    @classmethod
    def from_json(cls, record: object, world: World) -> Question:
        """Reads an object with `statement` (or `sentence`) and `scene` (or the world's name for it), or with `image`,
        the base64 text of a PNG or JPEG file, in place of the scene."""
        if not isinstance(record, Mapping):
            raise InputError("not a JSON object", allowed="a question is an object with statement and scene")
        statement = record.get("statement", record.get("sentence"))
        scene = record.get("scene", record.get(world.scene_field))
        if "image" not in record:
            _check_statement(statement)  # so that errors come in the order of the arguments
            return cls(statement, scene if isinstance(scene, Scene) else world.parse(scene))
        if scene is not None:
            raise InputError("a question has a scene and an image", allowed="give one of them")
        return cls(statement, picture=parse_image(record["image"], world))


@dataclass(frozen=True)
class Attention:
    """Attention maps, boxes outermost; None where the model has no such map.

    Items stand in the order of the scene. Rows sum to one, unless eyes missed an item of the scene, which then has no
    attention, or saw one that it does not have.
    """

    words: list[str]
    words_to_items: list[list[list[float]]] | None  # [box][word][item]: alpha of equation 4
    items_to_words: list[list[list[float]]] | None  # [box][item][word]: beta of equation 7


@dataclass(frozen=True)
class Verdict:
    """Answers a question. Order and attention refer to the items as the question's scene lists them, or as `seen`
    does."""

    probability: float  # that the statement is true of the scene
    per_box: list[float] | None  # box scores as probabilities; None unless the verdict is the max or mean of box scores
    order: list[list[int]] | None  # per box, the items' indices as the model read them; None if order does not matter
    attention: Attention | None  # None for models without attention
    unknown_words: dict[str, list[str]]  # words that the model does not know, each with the nearest that it knows
    order_is_chosen: bool = False  # by a pointer network; else the items were read as they came
    seen: Scene | None = None  # what was recognised, if the question is about a picture and the model reads items
    world: World | None = field(default=None, repr=False, compare=False)  # of the scene
    understood: bool = True  # False: the statement says nothing that can be seen in a scene
    reading: str | None = None  # the statement as it was understood, in plain words; None without a reader
    disputed: bool = False  # whether the reading, taken literally, has the other truth

    @property
    def verdict(self) -> bool | None:
        """Returns whether the statement is true; None if it was not understood."""
        return self.probability > 0.5 if self.understood else None

    def to_json(self, *, attention: bool = False) -> dict[str, Any]:
        """Returns the object of `veriscene predict --json`; `attention` adds the maps, and the scene that was seen."""
        record: dict[str, Any] = {
            "probability": self.probability,
            "verdict": self.verdict,
            "understood": self.understood,
            "reading": self.reading,
            "disputed": self.disputed,
            "per_box": self.per_box,
            "order": self.order,
            "unknown_words": self.unknown_words,
        }
        if attention and self.attention is not None:
            record["attention"] = asdict(self.attention)
        if attention and self.seen is not None and self.world is not None:
            record["scene"] = self.world.to_json_scene(self.seen)
        return record


def parse_image(value: object, world: World) -> Pixels:
    """Returns the picture in a PNG or JPEG file, given as base64 text or as its bytes; raises InputError if there is
    none."""
    try:
        if not isinstance(value, str | bytes):
            raise not_allowed(value, "it must be the base64 text of a PNG or JPEG file")
        content = value if isinstance(value, bytes) else base64.b64decode(value, validate=True)
        pixels: Pixels = worlds.require(world, "picture_from_bytes", "pictures")(content)
        return pixels
    except ValueError:
        raise InputError("not base64", where="image") from None
    except InputError as error:
        raise error.at("image") from None


def _check_statement(statement: object) -> None:
    with located("statement"):
        check_statement(statement)
