"""The names that programs use, and those that are left for the arguments of lambdas."""

from __future__ import annotations

import keyword
import re
from enum import Enum

from veriscene.meaning.language.constants import CONSTANTS
from veriscene.meaning.language.functions import FUNCTIONS
from veriscene.meaning.language.signatures import Form


class Whole(Enum):
    """The two collections that a scene brings along."""

    BOXES = "all_boxes"
    ITEMS = "all_items"


CALLABLE, METHODS, ATTRIBUTES = (
    [name for name, function in FUNCTIONS.items() if function.form is form]
    for form in (Form.FUNCTION, Form.METHOD, Form.ATTRIBUTE)
)
ENUMS = sorted({name.split(".")[0] for name in CONSTANTS})
_RESERVED = frozenset([*CALLABLE, *ENUMS, *(whole.value for whole in Whole), *keyword.kwlist])
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,30}")


def is_free(name: str) -> bool:
    """Whether a lambda may call its argument so."""
    return name not in _RESERVED and _PLAIN.fullmatch(name) is not None
