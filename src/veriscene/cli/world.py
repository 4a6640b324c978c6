"""`veriscene world`: write, check and look at world files."""

from __future__ import annotations

import random
import shlex
from pathlib import Path
from typing import Annotated

import typer

from veriscene.cli.output import argument, option
from veriscene.errors import InputError
from veriscene.output import counted

app = typer.Typer(
    help="Worlds of your own: what scenes can contain, as a TOML file.",
    epilog="Example: veriscene world show shelf.toml",
    no_args_is_help=True,
)

EXAMPLE = Path(__file__).with_name("example_world.toml")

File = Annotated[Path, argument("A world file.", metavar="FILE.toml")]


@app.command()
def new(file: File) -> None:
    """Write a commented example to FILE.toml, which must not exist.

    Example: veriscene world new shelf.toml
    """
    from veriscene.files import check_absent, write_text
    from veriscene.world.world_file import MAX_NAME

    check_absent(file)
    name = "".join(letter if letter.isalnum() else "_" for letter in file.stem)
    text = EXAMPLE.read_text(encoding="utf-8")
    name = (name if name[0].isalpha() else f"world_{name}")[:MAX_NAME]
    write_text(file, text.replace("NAME", name, 1))
    print(f"{file} written; look at it with: {shlex.join(['veriscene', 'world', 'show', str(file)])}")


@app.command()
def check(file: File) -> None:
    """Print everything that is wrong with a world file, and where.

    Example: veriscene world check shelf.toml
    """
    from veriscene.world.world_file import check_world

    problems: list[InputError] = []
    world = check_world(file, problems)
    for problem in problems[:-1]:
        print(problem)
    if world is None:
        raise problems[-1]
    low, high = world.boxes
    attributes = ", ".join(f"{each.name} ({each.kind})" for each in world.attributes)
    boxes = f"{low if low == high else f'{low} to {high}'} {world.box.singular if high == 1 else world.box.plural}"
    print(f"{file}: {world.name}, {boxes} of {world.items[0]} to {world.items[1]} {world.item.plural}; {attributes}")


@app.command()
def show(
    file: Annotated[str, argument("A world file, or the name of a world.", metavar="FILE.toml")],
    out: Annotated[Path | None, option("The SVG file to write. Default: FILE.svg in the current folder.")] = None,
    scenes: Annotated[int, option("How many scenes to draw.", min=1, max=100)] = 6,
    seed: Annotated[int, option("Of the random scenes.")] = 1,
) -> None:
    """Draw random scenes of a world as one SVG picture.

    Example: veriscene world show shelf.toml --scenes 9
    """
    from veriscene import worlds
    from veriscene.files import write_text
    from veriscene.world.drawing import contact_sheet
    from veriscene.world.random_scenes import random_scene

    world, rng = worlds.get(file), random.Random(seed)
    target = out or Path(f"{Path(file).stem}.svg")
    write_text(target, contact_sheet(world, [random_scene(world, rng) for _ in range(scenes)]))
    print(f"{target}: {counted(scenes, 'scene')} of the world {world.name}")
