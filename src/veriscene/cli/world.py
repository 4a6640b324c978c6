"""`veriscene world`: write, check and look at world files."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Annotated

import typer

from veriscene.errors import InputError

app = typer.Typer(
    help="Worlds of your own: what scenes can contain, as a TOML file.",
    epilog="Example: veriscene world show shelf.toml",
    no_args_is_help=True,
)

EXAMPLE = """\
# A world: what the scenes that statements are about can contain. docs/own-world.md explains every key.
name = "{name}"
canvas = [120, 40]  # width and height of a box, in any unit
boxes = [1, 4]  # of a scene: one number, or the smallest and the largest
items = [0, 12]  # of a box; 0: boxes may be empty
box = ["shelf", "shelves"]  # what a box is called, and several of them
item = ["product", "products"]
extent = [9, 12]  # width and height of every item; without it, items state their own

[attributes.kind]
noun = true  # its values name items: "a red bottle"
values = ["bottle", "can", "jar", "carton"]  # without a shape, items are drawn as labelled tiles

[attributes.color]
words = ["color", "colour"]
[attributes.color.values]
red = {{ fill = "#d62728", words = ["red", "crimson"] }}
green = {{ fill = "#2ca02c" }}
white = {{ fill = "#ffffff" }}

[attributes.price]
kind = "numeric"  # or "ordered", whose values ascend, or "categorical", the default
range = [1, 20]
step = 1
unit = "€"
more = "more expensive"
less = "cheaper"

[attributes.offer]
values = {{ yes = {{ words = ["on offer"], outline = "#ff7f0e" }}, no = {{ words = ["not on offer"] }} }}
"""

File = Annotated[Path, typer.Argument(metavar="FILE.toml", help="A world file.")]


@app.command()
def new(file: File) -> None:
    """Write a commented example to FILE.toml, which must not exist.

    Example: veriscene world new shelf.toml
    """
    from veriscene.files import write_text

    if file.exists():
        raise InputError("exists already", where=file, allowed="name a new file")
    name = "".join(letter if letter.isalnum() else "_" for letter in file.stem) or "world"
    write_text(file, EXAMPLE.format(name=name if name[0].isalpha() else f"world_{name}"))
    print(f"{file} written; look at it with: veriscene world show {file}")


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
    boxes = (
        f"{low} {world.box.singular if low == 1 else world.box.plural}"
        if low == high
        else f"{low} to {high} {world.box.plural}"
    )
    print(f"{file}: {world.name}, {boxes} of {world.items[0]} to {world.items[1]} {world.item.plural}; {attributes}")


@app.command()
def show(
    file: Annotated[str, typer.Argument(metavar="FILE.toml", help="A world file, or the name of a world.")],
    out: Annotated[
        Path | None,
        typer.Option(help="The SVG file to write. Default: FILE.svg in the current folder."),
    ] = None,
    scenes: Annotated[int, typer.Option(min=1, max=100, help="How many scenes to draw.")] = 6,
    seed: Annotated[int, typer.Option(help="Of the random scenes.")] = 1,
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
    print(f"{target}: {scenes} scenes of the world {world.name}")
