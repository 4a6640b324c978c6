"""A Gymnasium environment of any world: edit a scene until a statement becomes true of it.

gymnasium.make("veriscene.lab.environment:EditScene-v0", world="shelf.toml")
"""

from __future__ import annotations

import random
import string
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veriscene import worlds
from veriscene.config import TeacherConfig
from veriscene.data.teacher.maker import draw_scenes
from veriscene.data.teacher.statements import Drawing
from veriscene.errors import InputError, missing_package
from veriscene.language.program import Statement
from veriscene.world.drawing import svg
from veriscene.world.edits import Edit, edits
from veriscene.world.examples import MAX_WORDS
from veriscene.world.scene import Scene
from veriscene.world.schema import World

try:
    import gymnasium
    from gymnasium import spaces
except ImportError as error:
    raise missing_package(error) from None

MAX_ACTIONS = 4096  # edits of a scene that can be chosen; scenes with more are rare
SCENES_PER_DRAW, MAX_DRAWS = 16, 20  # until one is found of which the statement is false
NAME = "EditScene-v0"

Observation = dict[str, Any]


class EditScene(gymnasium.Env[Observation, np.int64]):
    """An action is the number of an edit in `info["edits"]`; a number beyond them changes nothing.

    The reward is 1 when the statement has become true, which ends the episode, else 0; `max_edits` actions truncate it.
    `observation["items"]` has a row for each place of an item: whether there is one, and the world's features of it.
    """

    metadata = {"render_modes": ["svg"], "render_fps": 4}  # noqa: RUF012 (Gymnasium's own declaration)

    def __init__(
        self,
        world: str | Path | World = worlds.DEFAULT,
        *,
        statements: Sequence[Statement] = (),
        plain: float = 0.0,
        max_edits: int = 10,
        render_mode: str | None = None,
    ) -> None:
        """`statements` are those that are asked for; without any the grammar draws them, `plain` being the share in
        plain English in worlds with words of their own."""
        self.world, self.statements, self.max_edits = worlds.get(world), statements, max_edits
        self.plain, self.render_mode = plain, render_mode
        shape = (self.world.boxes[1], self.world.items[1], 1 + self.world.feature_count)
        letters = {*string.printable, *repr(self.world), *(letter for each in statements for letter in each.text)}
        text = spaces.Text(MAX_WORDS * 40, charset=frozenset(letters))
        self.observation_space = spaces.Dict({"statement": text, "items": spaces.Box(-1, 1, shape)})
        self.action_space = spaces.Discrete(MAX_ACTIONS)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begins with a statement and a scene of which it is false; `options` may have a `statement` and a `scene`."""
        super().reset(seed=seed)
        given = options or {}
        for _ in range(MAX_DRAWS):
            self.statement: Statement = given.get("statement") or self._draw_statement()
            scenes = [given["scene"]] if "scene" in given else self._draw_scenes()
            false = [scene for scene in scenes if not self.statement.program.holds(scene)]
            if false:
                self.done = 0
                return self._begin(false[0])
        raise InputError("no scene was found of which the statement is false", where=repr(self.statement.text))

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        self.done += 1
        scene = self.choices[int(action)][1] if int(action) < len(self.choices) else self.scene
        observation, info = self._begin(scene)
        is_true = self.statement.program.holds(scene)
        return observation, float(is_true), is_true, not is_true and self.done >= self.max_edits, info

    def render(self) -> str | None:
        """Returns the scene as SVG."""
        return svg(self.world, self.scene, title=self.statement.text) if self.render_mode == "svg" else None

    def _begin(self, scene: Scene) -> tuple[Observation, dict[str, Any]]:
        """Observes a scene and lists its edits."""
        self.scene = scene
        self.choices: list[tuple[Edit, Scene]] = list(islice(edits(self.world, scene), MAX_ACTIONS))
        mask = (np.arange(MAX_ACTIONS) < len(self.choices)).astype(np.int8)
        info = {"edits": tuple(edit for edit, _ in self.choices), "action_mask": mask, "scene": scene}
        return {"statement": self.statement.text, "items": self._items(scene)}, info

    def _items(self, scene: Scene) -> NDArray[np.float32]:
        space = self.observation_space["items"]  # type: ignore[index]
        rows = np.zeros(space.shape, np.float32)
        for box, items in enumerate(scene.boxes):
            for slot, item in enumerate(items.items):
                rows[box, slot] = [1, *self.world.features(item)]
        return rows

    def _draw_statement(self) -> Statement:
        number = int(self.np_random.integers(2**62))
        if self.statements:
            return random.Random(number).choice(self.statements)
        return Drawing(self.world, TeacherConfig.level, self.plain, number, blocks=1, size=1).make(0, 0)[0]

    def _draw_scenes(self) -> list[Scene]:
        kinds = worlds.scene_kinds(self.world) or (None,)
        kind = self.statement.kind or kinds[int(self.np_random.integers(len(kinds)))]
        return draw_scenes(self.world, self.np_random, kind, SCENES_PER_DRAW).scenes()


gymnasium.register(NAME, entry_point=f"{__name__}:EditScene")
