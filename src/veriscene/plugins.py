"""Models and worlds from outside the package: modules named with --plugin, and entry points of installed packages.

A plug-in is a module that defines subclasses of `models.base.Model`, or a `WORLD`, or both; a package may contain
world.toml in place of the `WORLD`. A package that is installed can name its parts instead, in the entry points
`veriscene.models` (a class) and `veriscene.worlds` (a module).
"""

from __future__ import annotations

import importlib
from importlib import resources

from veriscene import worlds
from veriscene.errors import InputError
from veriscene.world.schema import World


def load_plugin(module: str) -> None:
    """Imports a module and makes its models and its world known by their names; raises InputError if it has none."""
    from veriscene import models

    try:
        if not module or module.startswith("."):
            raise ImportError("not the name of a module")
        imported = importlib.import_module(module)
    except (ImportError, SyntaxError) as error:
        allowed = "give the name of a module that Python can import, as my_package.my_model"
        raise InputError(f"cannot be imported ({error})", where=f"plug-in {module}", allowed=allowed) from None
    kinds = [
        value
        for value in vars(imported).values()
        if isinstance(value, type) and issubclass(value, models.Model) and value.__module__ == imported.__name__
    ]
    for kind in kinds:
        models.register(kind)
    has_file = hasattr(imported, "__path__") and (resources.files(module) / worlds.FILE).is_file()
    if has_file or isinstance(getattr(imported, "WORLD", None), World):
        worlds.register(module)
    elif not kinds:
        raise InputError(f"defines no Model and no WORLD, and has no {worlds.FILE}", where=f"plug-in {module}")
