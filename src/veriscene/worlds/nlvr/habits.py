"""Habits of people who write fast: agreement, articles and spellings that differ from correct English.

Every habit keeps the meaning. Shares are about those of NLVR's train statements. Random typing errors are not here.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

COLOR = "(?:yellow|black|blue)"
SOME = r"(?:two|three|four|2|3|4)"
HOW_MANY = r"(?:(?:exactly |only |at least )?(?:one|two|three|four|1|2|3|4))"
THINGS = rf"(?:{COLOR} )?(?:block|item|object|circle|square|triangle)s?"

LOST_CAPITAL = ("ll ", "t least ")
# The share of statements with this wording that are written otherwise; the wording; what is written.
Habit = tuple[float, str, str | Callable[[re.Match[str]], str]]
HABITS: tuple[Habit, ...] = (
    # A corpus that lost first letters: in NLVR "All" at the beginning is nearly always "ll".
    (0.75, r"^all\b", "ll"),
    (0.45, r"^at least\b", "t least"),
    # Agreement.
    (0.6, r"\b((?:towers|boxes) (?:that|which)) have\b", r"\1 has"),
    (0.4, r"\b((?:towers|boxes)) have\b", r"\1 has"),
    (0.85, r"\bone of the (grey box|grey square)(?:e?s)\b", r"one of the \1"),
    (
        0.3,
        r"\bone of the (towers|boxes)\b",
        lambda found: "one of the " + {"towers": "tower", "boxes": "box"}[found[1]],
    ),
    (0.03, rf"\b({SOME} )(tower|boxe|block|item|object)s\b", lambda found: found[1] + found[2].removesuffix("e")),
    (0.03, r"^there are\b", "there is"),
    (0.02, rf"\b(one {COLOR} (?:block|item|circle|square|triangle))\b", r"\1s"),
    (
        0.15,
        rf"^(there are (?:exactly |only |at least )?{SOME} (?:towers|boxes) .*(?:blocks|items|objects))$",
        r"\1 each",
    ),
    # Articles.
    (0.12, rf"\b(having|has|have|and) an? (?={COLOR})", r"\1 "),
    (0.05, rf"\b(with|contains|containing|above|over|on|below) an? (?={COLOR})", r"\1 "),
    (0.12, rf"\b(above|over|on|below|on top of|under) a (?={COLOR})", r"\1 the "),
    (0.1, r"\bat the (base|top|bottom)\b", r"at \1"),
    (0.06, r"\bas the (base|top)\b", r"as \1"),
    (0.015, r"^(there is) an?\b(?= (?:box|tower|yellow|black|blue|grey))", r"\1"),
    (0.006, r"^(there is) a\b", r"\1a"),
    (0.01, r"^(there is) a\b", r"\1 as"),
    (0.1, r"\bof the same (color|colour|shape|size)\b", r"of same \1"),
    # Words.
    (0.25, r"\bbig\b", "large"),
    (0.08, r"\bat most\b", "no more than"),
    (0.05, r"\bless than\b", "fewer than"),
    (0.05, r"\bmiddle\b", "center"),
    (0.04, rf"\b(above|on top of) a (?={COLOR} block)", r"directly \1 a "),
    (0.03, rf"\b(above|below|under) a (?={COLOR} block)", r"right \1 a "),
    (0.05, r"\b(boxes|towers|box|tower) without a\b", r"\1 with no"),
    (0.05, r"\bgrey\b", "gray"),
    (0.1, r"\btop (block|item|object)\b", r"topmost \1"),
    (0.4, r"\bbelow\b", "bellow"),
    (0.2, r"\battached\b", "attach"),
    (0.1, r"\bstacked together\b", "stack together"),
    (0.03, r"\b(box|tower) (which|that) (has|contains)\b", r"\1, \2 \3"),
    (0.006, r"\b(box|tower) with (?=exactly|only|one|two|three|at least|a )", r"\1 with has "),
    (0.03, rf"\b({COLOR}) (blocks|items|objects)\b", r"\2 of \1 color"),
    (0.02, rf"\b({COLOR}) (blocks|items|objects)\b", r"\1 color \2"),
    (0.3, r"\b(contains?|has|have|with) an? (even|odd) number", r"\1 \2 number"),
    (0.01, r"\b(circle|square|triangle)s\b", r"\1 shapes"),
    (0.1, rf"(?<!closely )touching (a {COLOR})", r"near \1"),
    (0.03, r"\bonly (?=one|1)", "just "),
    (0.05, rf"\bexactly (?={SOME} (?:blocks|items|objects) (?:having|with|and))", ""),
    (0.04, rf"\b(with|has|contains) ({HOW_MANY} {THINGS})$", r"\1 \2 in it"),
    # Spellings.
    (0.05, r"\bat least\b", "atleast"),
    (0.012, r"\bat least\b", "at leats"),
    (0.008, r"\bat least\b", "at lest"),
    (0.006, r"\bat least\b", "at lease"),
    (0.008, r"\bexactly\b", "eactly"),
    (0.006, r"\bexactly\b", "exacly"),
    (0.01, r"\byellow\b", "yelow"),
    (0.008, r"\bblue\b", "ble"),
    (0.01, r"\btriangle", "traingle"),
    (0.006, r"\btriangle", "trianlge"),
    (0.01, r"\bblack block", "block block"),
    (0.01, rf"\b({COLOR}) block\b", r"\1 black"),
    (0.012, r"\bcircle", "cirlce"),
    (0.006, r"\bcircle", "cicle"),
    (0.012, r"\bsquare", "sqaure"),
    (0.01, r"\bedge\b", "egde"),
    (0.008, r"\bedge\b", "adge"),
    (0.006, r"\bwith\b", "wih"),
    (0.006, r"\btouching\b", "touhing"),
    (0.006, r"\bobjects\b", "objetcs"),
    (0.003, r"^there\b", "theer"),
    (0.004, r"^there (?=is|are)", "the "),
)
_COMPILED = [(share, re.compile(pattern), written) for share, pattern, written in HABITS]
DOUBLE_BLANK = 0.02


def rewrite(rng: random.Random, words: str) -> str:
    """The words as somebody in a hurry writes them; the meaning stays."""
    for share, pattern, written in _COMPILED:
        if rng.random() < share:
            words = pattern.sub(written, words, count=1)
    if rng.random() < DOUBLE_BLANK:
        blank = rng.choice([found.start() for found in re.finditer(" ", words)])
        words = f"{words[:blank]} {words[blank:]}"
    return words
