"""The worlds that can be named: those in this package, those of plug-ins, and files.

A world is a World (world/schema.py). Some worlds can do more than their file says: draw exact pixels, decode pictures,
read another notation of programs. Such abilities are functions of the world's module, asked for by `ability`, so that
nothing outside this package has to know which world has them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from importlib import resources
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from veriscene.errors import InputError
from veriscene.files import opened, parse_json, read_lines
from veriscene.language.language import Language, language_of
from veriscene.language.program import Program
from veriscene.output import Progress, silent
from veriscene.world import examples
from veriscene.world.examples import Example
from veriscene.world.schema import World
from veriscene.world.world_file import read_world

DEFAULT = "nlvr"
FILE = "world.toml"  # in the module of a world, and in the folder of a corpus
_SHIPPED = {"nlvr": "veriscene.worlds.nlvr", "shapeworld": "veriscene.worlds.shapeworld"}
_PLUGINS: dict[str, str] = {}  # registered at run time, name -> module


def register(module: str) -> None:
    """Makes the world of a plug-in known: a module with a `WORLD`, or a package that contains world.toml. Raises
    InputError if it has the name of a world of this package."""
    name = _load(module).name
    if name in _SHIPPED:
        raise InputError(f"a plug-in's world cannot be called {name!r}", where=f"plug-in {module}", allowed="rename it")
    _PLUGINS[name] = module


def names() -> list[str]:
    """Returns the worlds that can be named."""
    return sorted(_modules())


def get(name_or_path: str | Path | World | None = None) -> World:
    """Returns a world by its name or from a TOML file; None is the default world, and a World is returned as it is."""
    if isinstance(name_or_path, World):
        return name_or_path
    name = DEFAULT if name_or_path is None else str(name_or_path)
    if name in _modules():
        return _load(_modules()[name])
    if name.endswith(".toml") or Path(name).is_file():
        return read_world(name)
    hint = "".join(f"did you mean {near}? " for near in get_close_matches(name, names(), n=1))
    allowed = f"{hint}choose from {', '.join(names())}, or name a TOML file"
    raise InputError(f"unknown world {name!r:.60}", allowed=allowed)


def of_corpus(path: str | Path) -> World:
    """Returns the world of a corpus: world.toml in its folder or beside its file, the world whose format the file's
    first line has, else the default world."""
    return _stated(Path(path)) or get()


def _stated(path: Path) -> World | None:
    """The world that a corpus says it is about."""
    for folder in (path, path.parent, path.parent.parent):
        if (folder / FILE).is_file():
            return read_world(folder / FILE)
    record = _first_record(path)
    for world in map(get, _SHIPPED):
        is_own = ability(world, "is_own_record")
        if record is not None and is_own is not None and is_own(record):
            return world
    return None


def _first_record(path: Path) -> Mapping[str, Any] | None:
    """The object of a file's first line, or None: what is wrong with a file is reported where it is read."""
    if not path.is_file():
        return None
    try:
        with opened(path) as stream:
            line = next(iter(read_lines(stream)), (0, ""))[1]
        record = parse_json(line) if isinstance(line, str) else None
    except InputError:
        return None
    return record if isinstance(record, Mapping) else None


def of_example(example: Example) -> World:
    """Returns the world of an example's scene."""
    return example.world or get()


def read(path: str | Path, world: str | Path | World | None = None, progress: Progress = silent) -> list[Example]:
    """Returns all examples of a file, in file order; raises InputError with the first problem. The world is that of
    the file's corpus (`of_corpus`) unless it is given; one of another name than the corpus states is an error."""
    stated = _stated(Path(path))
    found = stated or get() if world is None else get(world)
    if stated is not None and stated.name != found.name:
        raise InputError(f"is about the world {stated.name}", where=path, allowed=f"expected here: {found.name}")
    return examples.read(path, found, progress, records(found))


def scan(path: str | Path, progress: Progress = silent) -> Iterator[Example | InputError]:
    """Yields the examples and the problems of a file of its corpus's world (`examples.scan`)."""
    world = of_corpus(path)
    return examples.scan(path, world, progress, records(world))


def records(world: World) -> examples.Records:
    """Returns the function that splits a line of the world's files: some worlds have several records in one."""
    return ability(world, "records") or examples.as_it_is


def ability(world: World, name: str) -> Callable[..., Any] | None:
    """Returns a function of the world's module, or None if the world does not have this ability.

    A module may name functions of its submodules in `ABILITIES`, as "raster.pixels". They are imported when they are
    used, because `veriscene --help` must not wait for them.
    """
    module = _modules().get(world.name)
    if module is None or _load(module) != world:
        return None
    imported = importlib.import_module(module)
    submodule, _, own = getattr(imported, "ABILITIES", {}).get(name, "").rpartition(".")
    if submodule:
        imported = importlib.import_module(f"{module}.{submodule}")
    found: Callable[..., Any] | None = getattr(imported, own or name, None)
    return found


def require(world: World, name: str, what: str) -> Callable[..., Any]:
    """Like `ability`, but raises InputError, in which `what` is what the user asked for."""
    found = ability(world, name)
    if found is None:
        raise InputError(f"the world {world.name} has no {what}", allowed="give scenes as lists of items")
    return found


def scene_kinds(world: World) -> tuple[str, ...]:
    """Returns the kinds of scenes that statements about a world can be limited to; most worlds have none."""
    kinds: Any = ability(world, "SCENE_KINDS")
    return kinds or ()


def language(world: str | Path | World | None = None) -> Language:
    """Returns the language of programs about a world, with the names that the world adds to it."""
    found = get(world)
    return language_of(found, ability(found, "extend_language"))


def parse(text: str, world: str | Path | World | None = None) -> Program:
    """Returns the program that a text describes; raises InputError, with the place of the mistake, if it is none."""
    return language(world).parse(text)


def _modules() -> dict[str, str]:
    return {**_entry_points(), **_PLUGINS, **_SHIPPED}


@cache
def _entry_points() -> dict[str, str]:
    return {point.name: point.value for point in entry_points(group="veriscene.worlds")}


@cache
def _load(module: str) -> World:
    imported = importlib.import_module(module)
    world = getattr(imported, "WORLD", None)
    if isinstance(world, World):
        return world
    with resources.as_file(resources.files(module) / FILE) as path:
        return read_world(path)
