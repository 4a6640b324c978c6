"""Models and worlds from outside the package: modules named with --plugin, and entry points of installed packages.

A plug-in is a module that defines subclasses of `models.base.Model`, or a `WORLD`, or both; a package may contain
world.toml in place of the `WORLD`. A package that is installed can name its parts instead, in the entry points
`veriscene.models` (a class) and `veriscene.worlds` (a module).
"""

from __future__ import annotations

import importlib
import traceback
from importlib import resources

from veriscene import worlds
from veriscene.errors import InputError
from veriscene.world.schema import World


def load_plugin(module: str) -> None:
    """Imports a module and makes its models and its world known by their names; raises InputError if it has none, or if
    its own code raises."""
    from veriscene import models

    try:
        if not module or module.startswith("."):
            raise ImportError("not the name of a module")
        imported = importlib.import_module(module)
    except InputError as error:
        raise error.at(f"plug-in {module}") from None
    except Exception as error:
        line = _line_that_raised(error, module)
        if isinstance(error, SyntaxError) or (isinstance(error, ImportError) and line is None):
            allowed = "give the name of a module that Python can import, as my_package.my_model"
            raise InputError(f"cannot be imported ({error})", where=f"plug-in {module}", allowed=allowed) from None
        told = "".join(traceback.format_exception_only(error)).strip()
        raise InputError(f"raises {told}", where=f"plug-in {module}" + (f", {line}" if line else "")) from None
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


def _line_that_raised(error: Exception, module: str) -> str | None:
    """Returns `file:line` of the last line of the plug-in, not of a library that it uses; None if none of it ran."""
    package = module.partition(".")[0]
    lines = [
        f"{frame.f_code.co_filename}:{number}"
        for frame, number in traceback.walk_tb(error.__traceback__)
        if str(frame.f_globals.get("__name__")).partition(".")[0] == package
    ]
    return lines[-1] if lines else None
