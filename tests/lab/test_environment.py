"""The environment follows Gymnasium's contract in any world; an episode ends when the statement is true."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

gymnasium = pytest.importorskip("gymnasium", reason="the environment needs gymnasium: pip install -e '.[dev]'")
from gymnasium.utils.env_checker import check_env  # noqa: E402

from some_worlds import WORLDS  # noqa: E402
from veriscene import worlds  # noqa: E402
from veriscene.errors import InputError  # noqa: E402
from veriscene.lab.environment import EditScene  # noqa: E402
from veriscene.language.program import Statement  # noqa: E402
from veriscene.world.schema import World  # noqa: E402

SHELF = Path(__file__).resolve().parents[2] / "examples" / "shelf" / "shelf.toml"


@pytest.mark.filterwarnings("ignore")  # Gymnasium's advice
@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_it_follows_the_contract_and_is_deterministic_given_the_seed(world: World) -> None:
    check_env(EditScene(world, render_mode="svg"))
    statements = [[EditScene(world).reset(seed=seed)[0]["statement"] for seed in range(6)] for _ in range(2)]
    assert statements[0] == statements[1] and len(set(statements[0])) > 3


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_the_edit_that_makes_the_statement_true_is_rewarded_and_ends_the_episode(world: World) -> None:
    environment, ended = EditScene(world, max_edits=3), []
    for seed in range(8):
        observation, info = environment.reset(seed=seed)
        program = environment.statement.program
        assert not program.holds(info["scene"]) and info["action_mask"].sum() == len(info["edits"])
        scenes = [scene for _, scene in environment.choices]
        true = [number for number, scene in enumerate(scenes) if program.holds(scene)]
        if true:
            observation, reward, terminated, truncated, info = environment.step(true[0])
            assert (reward, terminated, truncated) == (1, True, False) and info["scene"] == scenes[true[0]]
        else:
            steps = [environment.step(len(environment.choices)) for _ in range(3)]  # no such edit: nothing changes
            assert [(reward, end, cut) for _, reward, end, cut, _ in steps] == [(0, False, n == 2) for n in range(3)]
        assert environment.observation_space.contains(observation)
        ended.append(bool(true))
    assert any(ended)


def test_a_statement_and_a_scene_of_ones_own_can_be_given() -> None:
    environment = gymnasium.make("veriscene.lab.environment:EditScene-v0", world=str(SHELF)).unwrapped
    observation, info = environment.reset(seed=1)
    given = {"statement": environment.statement, "scene": info["scene"]}
    again, _ = environment.reset(seed=2, options=given)
    assert again["statement"] == observation["statement"] and (again["items"] == observation["items"]).all()
    always = Statement("Anything.", None, worlds.parse("1 == 1", environment.world))
    with pytest.raises(InputError, match="Anything"):
        environment.reset(options=given | {"statement": always})
    assert EditScene(SHELF, statements=[given["statement"]]).reset(seed=3)[0]["statement"] == again["statement"]


def test_it_needs_no_torch() -> None:
    code = "import sys, veriscene.lab.environment as e; e.EditScene().reset(seed=1); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
