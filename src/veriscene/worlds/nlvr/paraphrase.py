"""Other wordings of the same statement: "which has" for "with", "edge" for "wall", "a black base" for "a black block at
the base".

Left out is whatever NLVR's train programs tell apart, or might: "one tower" is not always "a tower", nor "only two"
always "exactly two", and "below" has other programs than "bellow". Where train has too few statements to tell (the
order of "a circle and two squares", say), English decides.
"""

from __future__ import annotations

import random
import re
from collections import Counter

from veriscene.worlds.nlvr.variation import COLORS, SHAPES, SIZES, SYNONYMS
from veriscene.worlds.nlvr.wordings.broad.habits import COLOR, HABITS
from veriscene.worlds.nlvr.wordings.wording import NUMBER_WORDS, sentence

NUMBER = rf"(?:[1-9]|{'|'.join(NUMBER_WORDS[1:])})"
BOX = r"(tower|box|gr[ea]y square)"
BOXES = r"(towers|boxes|gr[ea]y squares)"
THINGS = r"(?:block|item|object|circle|square|triangle)s?"
SOME_THINGS = rf"(?:an?|{NUMBER}) (?:{COLOR} )?{THINGS}"
HOLDING = "(?:having|with|and with|and it has|which has|that has)"

# The share of statements with this wording that are written otherwise; the wording; what may be written.
Wording = tuple[float, str, tuple[str, ...]]
WORDINGS: tuple[Wording, ...] = (
    # Boxes and towers, and what they hold.
    (
        0.5,
        rf"\b{BOX} (?:(?:that|which) (?:has|contains)|having|containing|with(?: has)?)\b(?! its)",
        tuple(rf"\1 {verb}" for verb in ("with", "with", "that has", "which has", "having", "that contains")),
    ),
    (
        0.5,
        rf"\b{BOXES} (?:(?:that|which) (?:has|have|contain|contains)|having|containing|with)\b(?! its|.*\bsame\b)",
        tuple(rf"\1 {verb}" for verb in ("with", "with", "that has", "that have", "which has", "having")),
    ),
    (
        0.5,
        rf"\b(tower .*{NUMBER} blocks?) {HOLDING} (?=(?:a )?{COLOR} block)",
        (r"\1 having ", r"\1 with ", r"\1 which has ", r"\1 that has "),
    ),
    (0.15, rf"^(there is a tower .*{NUMBER} blocks?) {HOLDING} (?=(?:a )?{COLOR} block)", (r"\1, and it has ",)),
    (0.3, rf"(?<=[a-z] )(contains|has)(?= {SOME_THINGS}| only| exactly| at least| atleast)", ("contains", "has")),
    (
        0.4,
        rf"\ba tower {HOLDING} ({NUMBER}) blocks(?=$| having| which| that| where| is\b| has\b)",
        (r"a \1 blocks tower", r"a \1 block tower", r"a tower of \1 blocks"),
    ),
    (0.5, rf"\ba ({NUMBER}) blocks? tower\b", (r"a tower with \1 blocks", r"a \1 block tower", r"a \1 blocks tower")),
    (0.3, r"\b(gr[ea]y) (?:box|square)\b", (r"\1 box", r"\1 square", "box")),
    (0.3, r"\b(gr[ea]y) (?:boxes|squares)\b", (r"\1 boxes", r"\1 squares", "boxes")),
    (0.5, rf"\b(with|has|contains) ({SOME_THINGS}) and ({SOME_THINGS})$", (r"\1 \3 and \2",)),
    (0.15, rf"\b(with|has|contains) ((?:(?:exactly|at least) )?{NUMBER} (?:{COLOR} )?{THINGS})$", (r"\1 \2 in it",)),
    (0.3, r" in it$", ("",)),
    # Items.
    (0.35, r"\bitem(s?)\b", (r"object\1",)),
    (0.35, r"\bobject(s?)\b", (r"item\1",)),
    (
        0.4,
        rf"\b(?:which|that) (is|are) (?:of )?({COLOR})(?: in)?(?: colou?r)?\b(?! \w)",
        (r"that \1 \2", r"which \1 \2", r"which \1 of \2 color", r"which \1 \2 in color"),
    ),
    (0.3, r"\b(?:that|which) (?:is|are) (?=(?:not |closely |nearly |almost )?touching)", ("",)),
    (0.1, rf"^(there is .*{THINGS}) (?=(?:not |closely )?touching)", (r"\1 that is ", r"\1 which is ")),
    (0.1, rf"^(there are .*{THINGS}) (?=(?:not |closely )?touching)", (r"\1 that are ", r"\1 which are ")),
    # Walls and corners.
    (
        0.5,
        r"(?<!closely )touching (?:the|an?|any) (?:edge|wall|side|line)(?: of the box)?(?=$|,| and\b| which| with a)",
        tuple(f"touching {wall}" for wall in ("the edge", "any edge", "the wall", "the side", "the side of the box")),
    ),
    (
        0.3,
        r"\btouching the (?:bottom )?base$",
        ("touching the bottom base", "touching the base", "touching the bottom"),
    ),
    (
        0.4,
        r"\b(?:closely|nearly|almost) touching (?:the|a)(?: box)? corner(?: of (?:a|the) box)?$",
        tuple(
            f"{closely} touching {corner}"
            for closely in ("closely", "closely", "nearly")
            for corner in ("a corner", "a corner of a box", "the corner", "a box corner")
        ),
    ),
    (
        0.3,
        r"\btouching (?:the )?(right|left) wall(?: of a box)?$",
        (r"touching the \1 wall", r"touching \1 wall of a box"),
    ),
    # Parts of towers.
    (
        0.35,
        rf"\b({COLOR} (?:block|item|object)) (?:above|over|on|on top of) (?=a {COLOR})",
        (r"\1 above ", r"\1 over ", r"\1 on ", r"\1 on top of "),
    ),
    (0.5, r"\b(?:bellow|under|underneath|beneath)\b", ("bellow", "under", "underneath", "beneath")),
    (
        0.4,
        # Not "a blue item touching the wall and a black item on top", which is on top of it.
        r"^((?!.*touching).*) (?:at|on) (?:the )?top$",
        tuple(rf"\1 {top}" for top in ("at the top", "at top", "on the top", "on top", "as the top")),
    ),
    (0.4, r"\b(?:at|on) (?:the )?(?:base|bottom)$", ("at the base", "at base", "at the bottom", "as the base")),
    (
        0.4,
        r"\b(?:as|at) the (top|base) of a tower\b",
        (r"as the \1 of a tower", r"at the \1 of a tower", r"as the \1 of tower"),
    ),
    (0.4, rf"\b(with|has|having) (?:a )?({COLOR}) block (?:at|as) (?:the )?(top|base)$", (r"\1 a \2 \3", r"\1 \2 \3")),
    (0.5, rf"\b(with|has|having) (?:a )?({COLOR}) (top|base)$", (r"\1 a \2 block at the \3", r"\1 \2 block at the \3")),
    (0.3, r"\b(top|base) block (is|are)\b", (r"\1 \2",)),
    (0.3, r"\bthe (top|base) (is|are)\b", (r"the \1 block \2",)),
    (
        0.5,
        r"^(there is a (?:.* )?tower) (?:and|where|that|which) (?=the (?:top|base|second|third|middle))",
        tuple(rf"\1 {word} " for word in ("and", "where", "that", "which")),
    ),
    (0.3, r"\b(second|third) block from the base\b", (r"\1 block",)),
    (
        0.4,
        r"\b(?:stacked together|attached (?:with|to) each other)$",
        ("stacked together", "attached with each other", "attached to each other"),
    ),
    # Comparisons.
    (0.3, r"\bat least\b", ("atleast",)),
    (0.5, r"\b(?:atleast|at leats|at lest|at lease|^t least|^tleast)\b", ("at least",)),
    (0.4, r"^there is (?:only|exactly) (?=(?:one|1) (?:tower|box))", ("there is only ", "there is exactly ")),
    (0.3, r"^(?:all|ll)(?: of)?(?: the)? (?=towers|boxes)", ("ll the ", "ll ", "all the ", "all of the ")),
    (
        0.5,
        r"(?<!have )(?<!has )(?<!have the )(?<!has the )\b(?:of )?(?:the )?same (?:in )?(colou?r|shape|size)$",
        (r"of the same \1", r"of same \1", r"the same in \1"),
    ),
    (0.3, r"\ball (three|3) (?:different )?(colou?rs)\b", (r"all \1 \2", r"all \1 different \2")),
    (0.3, r"\bcolour", ("color",)),
    (0.05, r"\bcolor", ("colour",)),
)
_WORDINGS = [(share, re.compile(pattern), written) for share, pattern, written in WORDINGS]
_HABITS = [(share, re.compile(pattern), written) for share, pattern, written in HABITS]
CHANGES = (1, 1, 2, 3)  # of the wording, at most: most new statements differ little from one that is known
HASTE = 0.3  # the share of paraphrases that have the habits of people who write fast
NUMBERS, CAPITAL, FULL_STOP = 0.2, 0.1, 0.15  # how often each is written the other way

_DIGIT = re.compile(r"\b[1-9]\b")
_COUNTING = re.compile(
    rf"\b(?:{'|'.join(NUMBER_WORDS[2:])}|(?:(?<=exactly )|(?<=least )|(?<= is )|(?<=only ))one)\b(?! of)"
)
_GREY_SQUARE = re.compile(r"\bgr[ea]y square")  # a box
# Habits of drawn statements that train programs do not bear out: "two" for "exactly two", "above the" for "above a".
_UNLIKE = re.compile(r"\b(?:exactly|below|directly|right|near|each|(?:above|over|on|below|under) the|and \w+ of)\b")
_NAMED = frozenset((*COLORS, *SHAPES, *SIZES, *NUMBER_WORDS))


def paraphrase(rng: random.Random, text: str) -> str:
    """Another wording of the same statement; the text itself if nothing applies.

    Colours, shapes, sizes and numbers stay, though "2" may become "two", and a "grey square" a "grey box".
    """
    before = text.strip(" .").lower()
    words = _rewrite(rng, before)
    if rng.random() < NUMBERS:
        words = _other_numbers(words)
    if words == before:
        return text
    words = re.sub(r"\ban (?=[^aeio])", "a ", words)
    capital, full_stop = text.strip()[0].isupper(), text.rstrip().endswith(".")
    return sentence(words, capital ^ (rng.random() < CAPITAL), full_stop ^ (rng.random() < FULL_STOP))


def named(text: str) -> Counter[str]:
    """Which colours, shapes, sizes and numbers a statement names, and how often."""
    words = re.findall(r"[a-z]+|\d+", _GREY_SQUARE.sub("box", text.lower()))
    singular = (SYNONYMS.get(word, word) for word in words)
    numbers = (NUMBER_WORDS[int(word)] if _DIGIT.fullmatch(word) else word for word in singular)
    return Counter(word for word in numbers if word in _NAMED)


def _rewrite(rng: random.Random, words: str) -> str:
    left = rng.choice(CHANGES)
    for share, pattern, options in rng.sample(_WORDINGS, len(_WORDINGS)):
        if left and rng.random() < share:
            new = pattern.sub(rng.choice(options), words)
            left -= new != words
            words = new
    for share, pattern, written in _HABITS if rng.random() < HASTE else ():
        if rng.random() < share:
            new = pattern.sub(written, words, count=1)
            if named(new) == named(words) and Counter(_UNLIKE.findall(new)) == Counter(_UNLIKE.findall(words)):
                words = new
    return words


def _other_numbers(words: str) -> str:
    """Digits as words; without digits, words as digits."""
    if _DIGIT.search(words):
        return _DIGIT.sub(lambda digit: NUMBER_WORDS[int(digit[0])], words)
    return _COUNTING.sub(lambda word: str(NUMBER_WORDS.index(word[0])), words)
