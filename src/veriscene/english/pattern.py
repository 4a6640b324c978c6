"""The notation of wordings, and the forms of a sentence: statement, question, note.

In a wording, `(a|b|c)` stands for one of several alternatives, `[a|b]` for one of them or nothing, and `~` marks the
finite verb of the main clause, from which questions and notes are derived: "there ~is a cat", "the left box ~has two".
`^` marks the beginning of another main clause of equal rank, with its conjunction: "there ~is a cat ^and there ~is a
dog".
"""

from __future__ import annotations

import random
import re

_INNERMOST = re.compile(r"\(([^()\[\]]*)\)|\[([^()\[\]]*)\]")
_VERB = re.compile(r"~([\w']+)")
_SPACE_BEFORE = re.compile(r" (?=[,?:])")  # left by empty words
_AUXILIARIES = frozenset(
    ["is", "are", "was", "were", "can", "could", "does", "do", "will", "would", "should", "may", "might", "must"]
)
_IRREGULAR = {
    "has": "have",
    "have": "have",
    "does": "do",
    "goes": "go",
    "outdoes": "outdo",
    "lies": "lie",
    "rises": "rise",
}
_FORMS_OF_BE = frozenset({"is", "are"})
_HAVING = re.compile("has|have|contains?")
_NOT_WITH = re.compile(r"\b(it|they|all|both|also) ~| got ")  # "if a box has a circle, it has" has no short form
_CLAUSE = re.compile(r"\s*\^")
# The beginning of a clause up to its subject: "and ", "but in the left box, "
_CONJUNCTION = re.compile(r"^(?:(?:and|but|or|while|whereas|plus|also|then|either|yet|though),? )+")
_NEGATIVE = re.compile(r"\b(no|not|none|neither|nor|never|nothing|nowhere|zero|without|few|cannot|hardly)\b|n't\b")


def expand(rng: random.Random, text: str) -> str:
    """Returns the text with one alternative chosen in each place."""

    def choose(match: re.Match[str]) -> str:
        if match[1] is not None:
            return rng.choice(str(match[1]).split("|"))
        return rng.choice(str(match[2]).split("|")) if rng.random() < 0.5 else ""

    while "(" in text or "[" in text:
        text, count = _INNERMOST.subn(choose, text)
        if not count:
            raise ValueError(f"brackets do not match in {text!r}")
    return _SPACE_BEFORE.sub("", " ".join(text.split()))


def statement(text: str) -> str:
    """Returns an expanded wording as a plain statement."""
    return _CLAUSE.sub(" ", text).replace("~", "").strip()


def is_negative(text: str) -> bool:
    """Returns whether the text contains a negation, which makes tags and negative questions hard to understand."""
    return _NEGATIVE.search(text) is not None


def is_imperative(text: str) -> bool:
    """Returns whether a wording tells what to do, "pick any two", which no question and no relative clause can say."""
    return re.match(r"\W*(pick|take|count|look|go)\b", text) is not None


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
    clauses = _CLAUSE.split(text)
    if not all(_VERB.search(each) for each in clauses) or any(re.search(r"~\w+(n't| not)\b", each) for each in clauses):
        return f"is it true that {statement(text)}"
    return " ".join(_inverted(each) for each in clauses)


def negative_question(text: str) -> str | None:
    """Returns "isn't there a cat" for "there ~is a cat", which also asks whether there is one; None of negations."""
    if is_negative(text) or "^" in text or _VERB.search(text) is None:
        return None
    words = _inverted(text)
    first, _, rest = words.partition(" ")
    if first not in _AUXILIARIES or first in ("may", "might", "will"):
        return None
    return f"{'can' if first == 'can' else first + 'n'}'t {rest}"


def tag(text: str) -> str | None:
    """Returns the tag of a statement, "isn't there", "doesn't it", "aren't they"; None of negations."""
    match = _VERB.search(text)
    if match is None or "^" in text or is_negative(text):
        return None
    verb, subject = match[1], text[: match.start()].split()
    auxiliary = verb if verb in _AUXILIARIES else base_form(verb)[0]
    if auxiliary not in ("is", "are", "does", "do", "can"):
        return None
    last = subject[-1].lower() if subject else "it"
    pronoun = last if last in ("there", "you", "we", "it", "they") else "they" if auxiliary in ("are", "do") else "it"
    if last == "i" or (auxiliary == "can" and pronoun not in ("you", "we")):
        return None
    return f"{'can' if auxiliary == 'can' else auxiliary + 'n'}'t {pronoun}"


def _inverted(clause: str) -> str:
    """Returns a clause with its finite verb first: "and does the left box have two"."""
    conjunction = _CONJUNCTION.match(clause)
    start = conjunction.end() if conjunction else 0
    clause, joined = clause[start:], clause[:start]
    match = _VERB.search(clause)
    assert match is not None
    before, verb, after = clause[: match.start()].strip(), match[1], clause[match.end() :].strip()
    # What stands before a comma stays in front: "in the left box, is there a circle".
    front, comma, subject = before.rpartition(", ")
    if not comma and before.endswith(" there"):  # "in the left box there is" has no comma, and neither has its question
        front, comma, subject = before[: -len(" there")], " ", "there"
    subject = re.sub(r"\b(i|I|we)\b$", "you", subject)
    if verb in _AUXILIARIES:
        words = f"{verb} {subject} {after}"
    else:
        auxiliary, infinitive = base_form(verb)
        if subject == "you":
            auxiliary = "do"
        words = f"{auxiliary} {subject} {infinitive} {after}"
    return statement(" ".join(f"{joined}{front}{comma}{words}".split()))


def negated(text: str, rng: random.Random) -> str:
    """Returns an expanded wording with its finite verb negated, still marked."""

    def negate(match: re.Match[str]) -> str:
        verb = match[1]
        if verb in _AUXILIARIES:
            short = "can't" if verb == "can" else "won't" if verb == "will" else f"{verb}n't"
            return "~" + rng.choice([f"{verb} not" if verb != "can" else "cannot", short, short])
        auxiliary, infinitive = base_form(verb)
        particle = rng.choice([" not", "n't", "n't"])
        return f"~{auxiliary}{particle} {infinitive}"

    return _VERB.sub(negate, text, count=1)


def note(text: str, having: str = "with") -> str:
    """Returns an expanded wording as people write notes: without "there is", "is" and "are", and `having` for "has"."""
    clauses = []
    for clause in _CLAUSE.split(text):
        short = re.sub(r"\b(there|here) ~(is|are) ", "", clause)
        short = re.sub(r"^(i|I|you|we) ~(can )?(see|count|find|spot|have) ", "", short)
        match = _VERB.search(short)
        if match is not None and match[1] in _FORMS_OF_BE:
            short = short[: match.start()] + short[match.end() :]
        elif match is not None and _HAVING.fullmatch(match[1]) and not _NOT_WITH.search(short):
            between = having if having == ":" else f" {having}"
            short = short[: match.start()].rstrip() + between + short[match.end() :]
        clauses.append(" ".join(short.split()))
    return statement(" ^".join(clauses))


def with_articles(text: str) -> str:
    """Returns the text with `a` turned into `an` before vowels."""
    return _BEFORE_VOWEL.sub(r"\1n ", text)


_BEFORE_VOWEL = re.compile(r"\b([aA]) (?=(?i:[aeiáàâäéèêëíìîïóòôöúùûü]|o(?!ne\b)|u(?!ni))|8|1[18]\b)")
