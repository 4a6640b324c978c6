"""The forms in which a sentence is said: statement, question, note, chat; and how people spell and type."""

from __future__ import annotations

import re

from veriscene.english import pattern
from veriscene.english.speaker import Sentence, Speaker
from veriscene.english.tables import tables
from veriscene.english.words import NUMBERS, ONE_LETTER_APART, ORDINALS

_TABLES = tables(__name__)
_FINITE = re.compile(r"(\b(is|are|has|have|do|does|can|cannot|see|means|implies)|n't|'(s|ve))\b")


def spoken(say: Speaker, sentence: Sentence) -> str:
    """Returns a sentence in one of its forms, spelled and typed as people do."""
    text = say.expand(sentence.text)
    form = say.weighted((56, _statement), (15, _question), (13, _note), (11, _chat), (5, _emphatic))
    if ":" in text or pattern.is_imperative(text) or ("~" not in text and not _FINITE.search(text)):
        form = _statement  # "left: two circles" is a note already, and "I think that left: two circles" is no English
    words = re.sub(r" +(?=[,;:.?!])", "", " ".join(form(say, text).split()))
    words = _contracted(say, words)
    if say.chance(0.03):
        words = _without_articles(say, words)
    return _in_case(say, _typed(say, pattern.with_articles(_spelled(say, words))))


# ---------------------------------------------------------------- forms


def _statement(say: Speaker, text: str) -> str:
    """ "There are two circles." """
    return pattern.statement(text) + _end(say)


def _end(say: Speaker) -> str:
    """The sign at the end of a statement, or none."""
    return say.weighted((55, "."), (42, ""), (2.5, "!"), (0.5, "..."))


_OUTER_NEGATION = re.compile(r"(it|you|I|no|nope)\b[^~]* (that|think|believe|say)\b")
_SEEING = re.compile(r"^there ~(is|are) (?!(no|not|neither|zero)\b)")


def _question(say: Speaker, text: str) -> str:
    """ "Are there two circles?"; "there are two circles, right?"; "is it true that there are two circles?" """
    weights = {"inverted": 60, "that": 13, "check": 8, "tag": 8, "negative": 4, "seeing": 6, "statement": 2}
    how = say.rng.choices(list(weights), list(weights.values()))[0]
    if _OUTER_NEGATION.match(text):  # "Is it true that it is not true that" is hard to understand.
        how = "check"
    mark = say.weighted((84, "?"), (15, ""), (1, "??"))
    plain = pattern.statement(text)
    if how == "that":
        return f"{say.expand(_TABLES['that'].say(say))} {plain}{mark}"
    if how == "check":
        return f"{say.pick('', '', '', 'so ')}{plain}{_TABLES['checks'].say(say)}{mark}"
    if how == "tag":
        return f"{plain}, {pattern.tag(text) or 'right'}{mark}"
    if how == "negative" and (words := pattern.negative_question(text)):
        return f"{words}{mark}"
    if how == "seeing" and "^" not in text and (match := _SEEING.match(text)):
        start = say.expand(_TABLES["seeing"].say(say))
        return f"{start} {pattern.statement(text[match.end() :])}{mark}"
    if how == "statement":
        return f"{plain}?"
    return f"{say.pick('so ', 'hey, ', 'and ') if say.chance(0.05) else ''}{_any(say, pattern.question(text))}{mark}"


def _any(say: Speaker, words: str) -> str:
    """Says "any" in a question, where it asks for at least one: "does any tower have a block on top"."""
    if not say.chance(0.5):
        return words
    words = re.sub(r"^(are there) (some|one or more) (?!of\b)", r"\1 any ", words)
    words = re.sub(r"^(do|are) (some|one or more) of ", r"\1 any of ", words)
    words = re.sub(r"^(does|is) (some|at least one|one) (?=of the\b)", r"\1 any ", words)
    # Not of "one tower", which is exactly one.
    return re.sub(r"^(does|is) (some|at least one) (?!of\b)", r"\1 any ", words)


_DEFINITE = re.compile(r"the [^~]*~(is|are)\b")


def _note(say: Speaker, text: str) -> str:
    """ "Two circles in left box"; "left box: two circles"."""
    having = say.pick("with", "with", ":") if text.startswith("the ") else "with"
    words = pattern.note(text, having)
    definite = _DEFINITE.match(text)  # "the jar on offer" says that the jar is; "jar on offer", that there is one
    if say.chance(0.6) and (definite is None or say.box in definite[0]):
        words = _without_articles(say, words)
    if say.chance(0.35) and (which := "|".join({word for place in say.lexicon.places for word in place.words})):
        words = re.sub(rf"\b({which}) {say.box}\b", r"\1", words)  # "two circles in left"
    return words + say.weighted((75, ""), (25, "."))


def _chat(say: Speaker, text: str) -> str:
    """ "Ok so I think there are two circles"; "looks like there are two circles"."""
    words = pattern.statement(text)
    how = say.weighted((5, "thinking"), (2.5, "start"), (1.5, "both"), (1.5, "after"))
    if how in ("thinking", "both"):
        words = f"{say.expand(_TABLES['thinking'].say(say))} {words}"
    if how in ("start", "both"):
        words = f"{say.expand(_TABLES['starts'].say(say))} {words}"
    if how == "after":
        words = f"{words}, {say.expand(_TABLES['afterthoughts'].say(say))}"
    return words + _end(say)


_STRONG = re.compile(
    r"\b(all|every|each|no|none|only|exactly|never|both|always|most|not|more|fewer|at least|at most|any)\b"
)


def _emphatic(say: Speaker, text: str) -> str:
    """ "There are definitely two circles"; "the left box does have two circles"; "ALL circles are blue"."""
    words = pattern.statement(text)
    match = re.search(r"~([\w']+)", text)
    if match is None or pattern.is_negative(text) or say.chance(0.2):
        return _STRONG.sub(lambda found: found[0].upper(), words, count=1) + _end(say)
    verb, surely = match[1], _TABLES["surely"].say(say)
    does = f"{surely} {verb}"
    if verb in ("is", "are", "can"):
        does = f"{verb} {surely}"
    elif say.chance(0.4):
        does = " ".join(pattern.base_form(verb))
    return pattern.statement(f"{text[: match.start()]}{does}{text[match.end() :]}") + _end(say)


# ---------------------------------------------------------------- spelling

# What is contracted, how, and how often by those who contract.
_CONTRACTIONS = tuple(
    (re.compile(rf"\b{row.wordings[0]}\b"), row.columns[0], share) for share, row in _TABLES["contractions"].rows
)


def _contracted(say: Speaker, words: str) -> str:
    """Contracts as people do in casual writing: "there's", "isn't", "they're"."""
    if not say.chance(0.5):
        return words
    for written, short, share in _CONTRACTIONS:
        if say.chance(share):
            words = written.sub(short, words)
    return words


# Articles that carry meaning: "a few" is not "few", and "the most circles" is not "most circles".
_ARTICLE = re.compile(
    r"(?<!half )(?<!than )(?<!not )\b(?:the|a|an) "
    r"(?!(?:few|total|pair|couple|single|minimum|maximum|most|majority|fewest|least|lot|third|quarter|half|only|one|"
    r"others?|rest)\b)"
)


def _without_articles(say: Speaker, words: str) -> str:
    """Leaves out articles: "black block on top of left tower". Either all of them, or only some."""
    share = 1.0 if say.chance(0.6) else 0.5
    return _ARTICLE.sub(lambda found: "" if say.chance(share) else found[0], words)


_SPELLINGS = (("color", "colour"), ("center", "centre"), ("gray", "grey"))  # American, British


def _spelled(say: Speaker, words: str) -> str:
    """Spells words in one of the ways of English throughout."""
    american = say.chance(0.5)
    for one, other in _SPELLINGS:
        wrong, right = (other, one) if american else (one, other)
        if wrong in words:
            words = re.sub(rf"\b{wrong}(s|ed|ing|less)?\b", rf"{right}\1", words)
    return words


# ---------------------------------------------------------------- typing

_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_KEYS = {letter: row[max(0, at - 1) : at] + row[at + 1 : at + 2] for row in _ROWS for at, letter in enumerate(row)}
_DIGITS = {"first": "1st", "second": "2nd", "third": "3rd", "fourth": "4th", "fifth": "5th"}
_ORDINAL = re.compile(rf"(?<!\ba )(?<!\bone )(?<!-)\b({'|'.join(_DIGITS)})\b")  # but not "a third of the circles"
_OTHER_WORDS = frozenset((*NUMBERS, *ORDINALS, *ONE_LETTER_APART))


def _typed(say: Speaker, words: str) -> str:
    """Types the text, with the errors and habits of typing."""
    if say.chance(0.15) and ":" not in words:
        words = words.replace(",", "")
    if say.chance(0.012):
        words = re.sub(r"\band\b", "&", words)
    if say.chance(0.012):
        words = re.sub(r"\bwith\b", "w/", words)
    if say.chance(0.1):
        words = _ORDINAL.sub(lambda found: _DIGITS[found[1]], words)
    if not say.chance(0.04):
        return words
    for _ in range(say.pick(1, 1, 1, 2)):
        words = _misspelled(say, words)
    return words


def _misspelled(say: Speaker, words: str) -> str:
    """Returns the text with one typing error in a word of at least four letters."""
    if say.chance(0.06):
        spaces = [found.start() for found in re.finditer(r"(?<=[a-z]{2}) (?=[a-z]{2})", words)]
        if spaces:
            at = say.rng.choice(spaces)
            return words[:at] + words[at + 1 :]
    found = list(re.finditer(r"\b[a-z]{4,}\b", words))
    if not found:
        return words
    match = say.rng.choice(found)
    word = match[0]
    for _ in range(5):
        at = say.rng.randrange(1, len(word))
        before, letter, after = word[:at], word[at], word[at + 1 :]
        wrong = say.pick(  # swapped, dropped, doubled, or a neighbouring key
            before[:-1] + letter + before[-1] + after,
            before + after,
            before + before[-1] + letter + after,
            before + say.rng.choice(_KEYS[letter]) + after,
        )
        if wrong != word and wrong not in _OTHER_WORDS:
            return words[: match.start()] + wrong + words[match.end() :]
    return words


def _in_case(say: Speaker, words: str) -> str:
    """Writes the text as a sentence, in small letters, or rarely in capitals; "I" is small where people are casual."""
    how = say.weighted((58, "sentence"), (40.5, "small"), (1.5, "capitals"))
    if how == "capitals":
        return words.upper()
    if how == "sentence":
        words = re.sub(r"(^|[.?!] )([a-z])", lambda found: found[1] + found[2].upper(), words)
        return re.sub(r"\bi\b(?=[ ']|$)", "I", words)
    return re.sub(r"\bI\b(?=[ ']|$)", "i", words)
