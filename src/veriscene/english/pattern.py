"""The notation of wordings, and the forms of a sentence: statement, question, note.

In a wording, `(a|b|c)` stands for one of several alternatives, `[a|b]` for one of them or nothing, and `~` marks the
finite verb of the main clause, from which questions and notes are derived: "there ~is a cat", "the left box ~has two".
"""

from __future__ import annotations

import random
import re

_INNERMOST = re.compile(r"\(([^()\[\]]*)\)|\[([^()\[\]]*)\]")
_VERB = re.compile(r"~([\w']+)")
_SPACE_BEFORE = re.compile(r" (?=[,?:])")  # left by empty words
_AUXILIARIES = frozenset("is are was were can could does do will would should may might must".split())
_IRREGULAR = {"has": "have", "have": "have", "does": "do", "goes": "go"}
_FORMS_OF_BE = frozenset({"is", "are"})


def expand(rng: random.Random, text: str) -> str:
    """Returns the text with one alternative chosen in each place."""

    def choose(match: re.Match[str]) -> str:
        if match[1] is not None:
            return rng.choice(match[1].split("|"))
        return rng.choice(match[2].split("|")) if rng.random() < 0.5 else ""

    while "(" in text or "[" in text:
        text, count = _INNERMOST.subn(choose, text)
        if not count:
            raise ValueError(f"brackets do not match in {text!r}")
    return _SPACE_BEFORE.sub("", " ".join(text.split()))


def statement(text: str) -> str:
    """Returns an expanded wording as a plain statement."""
    return text.replace("~", "")


def base_form(verb: str) -> tuple[str, str]:
    """Returns the auxiliary of a verb's question and its infinitive: "has" becomes "does" and "have"."""
    if verb in _IRREGULAR:
        return ("do" if verb == "have" else "does"), _IRREGULAR[verb]
    if verb.endswith("es") and verb[-3:-2] in ("s", "x", "h", "z"):
        return "does", verb[:-2]
    if verb.endswith("ies"):
        return "does", verb[:-3] + "y"
    if verb.endswith("s") and not verb.endswith("ss"):
        return "does", verb[:-1]
    return "do", verb


def question(text: str) -> str:
    """Returns an expanded wording as a yes/no question, without the question mark."""
    match = _VERB.search(text)
    if match is None:
        return f"is it true that {text}"
    before, verb, after = text[: match.start()].strip(), match[1], text[match.end() :].strip()
    # What stands before a comma stays in front: "in the left box, is there a circle".
    front, comma, subject = before.rpartition(", ")
    subject = re.sub(r"\b(i|we)\b$", "you", subject)
    if verb in _AUXILIARIES:
        words = f"{verb} {subject} {after}"
    else:
        auxiliary, infinitive = base_form(verb)
        if subject == "you":
            auxiliary = "do"
        words = f"{auxiliary} {subject} {infinitive} {after}"
    return statement(" ".join(f"{front}{comma}{words}".split()))


def negated(text: str, rng: random.Random) -> str:
    """Returns an expanded wording with its finite verb negated, still marked."""

    def negate(match: re.Match[str]) -> str:
        verb = match[1]
        if verb in _AUXILIARIES:
            short = {"can": "can't", "will": "won't"}.get(verb, f"{verb}n't")
            return "~" + rng.choice([f"{verb} not" if verb != "can" else "cannot", short, short])
        auxiliary, infinitive = base_form(verb)
        return f"~{auxiliary}{rng.choice([' not', chr(110) + chr(39) + 't'])} {infinitive}"

    return _VERB.sub(negate, text, count=1)


def note(text: str) -> str:
    """Returns an expanded wording as people write notes: without "there is", "is" and "are"."""
    text = re.sub(r"^(there|here) ~(is|are) ", "", text)
    match = _VERB.search(text)
    if match is not None and match[1] in _FORMS_OF_BE:
        text = text[: match.start()] + text[match.end() :]
    return " ".join(statement(text).split())


def with_articles(text: str) -> str:
    """Returns the text with `a` turned into `an` before vowels."""
    return re.sub(r"\b([aA]) (?=[aei]|o(?!ne\b)|u(?!ni)|8|11\b)", r"\1n ", text)
