"""lilGym's names for NLVR's attributes, in which the public programs are written.

They are functions and constants of the language of NLVR's world: `is_yellow(x)` for `color(x) == yellow`, `Size.BIG`
for `large`, `filter_shape`, `query_color`, `get_set_colors` and others.
"""

from __future__ import annotations

from veriscene.language.expression import Constant, Function
from veriscene.language.functions import AttributeFunctions
from veriscene.language.language import Extension
from veriscene.world.schema import Attribute, World

_OWN_NAMES = {"large": "BIG"}


def lilgym(world: World) -> Extension:
    """Returns lilGym's functions and constants."""
    functions: dict[str, Function] = {}
    constants: dict[str, Constant] = {}
    for attribute in world.attributes:
        own, values = _functions(world, attribute)
        functions |= own
        constants |= values
    return Extension(functions, constants)


def _functions(world: World, attribute: Attribute) -> tuple[dict[str, Function], dict[str, Constant]]:
    make, name = AttributeFunctions(world, attribute), attribute.name
    named = {choice.name: _OWN_NAMES.get(choice.name, choice.name.upper()) for choice in attribute.choices}
    constants = {
        f"{name.title()}.{named[value]}": Constant(f"{name.title()}.{named[value]}", make.type, place)
        for value, place in attribute.rank.items()
        if isinstance(value, str)
    }
    example = next(iter(constants))
    functions = {f"is_{written.lower()}": make.has(value) for value, written in named.items()}
    return functions | {
        f"filter_{name}": make.keep(f"a {name}, as {example}"),
        f"query_{name}": make.values(distinct_only=False),
        f"get_set_{name}s": make.values(distinct_only=True),
        f"equal_{name}": make.same(f"a {name} or a set of {name}s"),
        f"all_same_{name}": make.all_same,
    }, constants
