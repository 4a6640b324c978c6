"""Set operations on tuples, which keep their order so that programs do not depend on hashes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from veriscene.language.placed import PlacedBox

Members = tuple[Any, ...]


class Undefined(Exception):
    """An expression has no value on this scene, such as `unique` of a set without exactly one member."""


def keys(members: Sequence[Any], contents: bool = False) -> Sequence[Hashable]:
    """The members as set operations compare them: nested collections are equal if they have the same members.

    Boxes are compared by identity, or by what they contain.
    """
    if members and isinstance(members[0], tuple):
        return [frozenset(keys(member, contents)) for member in members]
    if contents and members and isinstance(members[0], PlacedBox):
        return [box.content() for box in members]
    return members


def distinct(values: Iterable[Any]) -> Members:
    """Each value once, in order of first appearance."""
    members = tuple(values)
    compared = keys(members)
    if compared is members:
        return tuple(dict.fromkeys(members))
    found: dict[Hashable, Any] = {}
    for key, member in zip(compared, members, strict=True):
        found.setdefault(key, member)
    return tuple(found.values())


def same_members(a: Members, b: Members) -> bool:
    return set(keys(a)) == set(keys(b))


def equal(a: Any, b: Any) -> bool:
    """Whether two values are the same. A set has no order, and a box that is compared with a set is one of items."""
    if isinstance(a, tuple) or isinstance(b, tuple):
        return same_members(*flat((a, b)))
    return bool(a == b)


def contains(member: Any, members: Members | PlacedBox) -> bool:
    return keys((member,))[0] in keys(*flat((members,)))


def all_same(members: Members) -> bool:
    """Whether there is exactly one distinct member. Boxes are compared by their contents."""
    return len(set(keys(members, contents=True))) == 1


def intersection(sets: Sequence[Members]) -> Members:
    if not sets:
        return ()
    first = distinct(sets[0])
    common = set(keys(first)).intersection(*map(keys, sets[1:]))
    return tuple(member for key, member in zip(keys(first), first, strict=True) if key in common)


def flat(sets: Sequence[Any]) -> list[Any]:
    """The sets, with boxes replaced by their items."""
    return [each.items if isinstance(each, PlacedBox) else each for each in sets]


def unique(members: Members) -> Any:
    if len(members) != 1:
        raise Undefined(f"unique needs a set of one member, not of {len(members)}")
    return members[0]


def least(members: Members, key: Callable[[Any], int] | None = None) -> Any:
    if not members:
        raise Undefined("an empty set has no least member")
    return min(members, key=key)
