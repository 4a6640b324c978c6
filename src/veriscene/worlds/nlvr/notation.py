"""lilGym's names for NLVR's attributes, in which the public programs are written.

They are functions and constants of the language of NLVR's world: `is_yellow(x)` for `color(x) == yellow`, `Size.BIG`
for `large`, `filter_shape`, `query_color`, `get_set_colors` and others.
"""

from __future__ import annotations

from veriscene.language import expression as takes
from veriscene.language.expression import FOUND_ITEMS, TRUTH, Constant, Function, Many, always
from veriscene.language.functions import Items, Members, distinct, same_members
from veriscene.language.language import Extension
from veriscene.world.schema import Attribute, World

_OWN_NAMES = {"large": "BIG"}


def lilgym(world: World) -> Extension:
    """Returns lilGym's functions and constants."""
    found = Extension()
    for attribute in world.attributes:
        constants = _constants(attribute)
        found.constants.update(constants)
        found.functions.update(_functions(world, attribute, example=next(iter(constants))))
    return found


def _named(choice: str) -> str:
    return _OWN_NAMES.get(choice, choice.upper())


def _constants(attribute: Attribute) -> dict[str, Constant]:
    names = [f"{attribute.name.title()}.{_named(choice.name)}" for choice in attribute.choices]
    return {name: Constant(name, takes.type_of(attribute), place) for place, name in enumerate(names)}


def _functions(world: World, attribute: Attribute, example: str) -> dict[str, Function]:
    at, name, type = world.attributes.index(attribute), attribute.name, takes.type_of(attribute)

    def has(rank: int) -> Function:
        return Function((takes.ITEM,), TRUTH, lambda item: item.values[at] == rank, bulk=("has", name, rank))

    def keep(items: Items, wanted: int) -> Items:
        return tuple([item for item in items if item.values[at] == wanted])

    def values(items: Items) -> Members:
        return tuple([item.values[at] for item in items])

    one = takes.one(type, f"a {name}, as {example}")
    one_or_more = takes.one_or_more(type, f"a {name} or a set of {name}s")
    own, of_items, of_set = always(Many(type)), (takes.ITEM_OR_ITEMS,), (takes.ITEMS,)
    return {
        **{f"is_{_named(choice.name).lower()}": has(rank) for rank, choice in enumerate(attribute.choices)},
        f"filter_{name}": Function((takes.ITEMS, one), FOUND_ITEMS, keep, bulk=("keep", name)),
        f"query_{name}": Function(of_items, own, values, bulk=("values", name, False)),
        f"get_set_{name}s": Function(of_set, own, lambda items: distinct(values(items)), bulk=("values", name, True)),
        f"equal_{name}": Function((one_or_more,) * 2, TRUTH, same_members, bulk=("equal",)),
        f"all_same_{name}": Function(of_set, TRUTH, lambda items: len({*values(items)}) == 1, bulk=("one_value", name)),
    }
