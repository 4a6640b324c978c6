"""Texts that cannot be settled by looking at a scene: greetings, opinions, commands, other topics, gibberish, other
languages. A reader learns from them to say that it did not understand a statement of the scene."""

from __future__ import annotations

import random

from veriscene.english.pattern import with_articles
from veriscene.english.speaker import Speaker
from veriscene.english.tables import tables
from veriscene.english.words import lexicon_of
from veriscene.language.language import Language

_TABLES = tables(__name__)
_SLOTS = {name: f"({'|'.join(_TABLES[name].wordings)})" for name in ("PERSON", "THING", "TIME")}
_LETTERS = ("qwertyuiop", "asdfghjkl", "zxcvbnm", "1234567890", "abcdefghijklmnopqrstuvwxyz", "bcdfghjklmnpqrstvwxz")
_SIGNS = "?!.,;:-_#*+=/0123456789"
_SMALL_WORDS, _UNRELATED = (_TABLES[name].wordings[0].split() for name in ("small_words", "unrelated"))


def outside(rng: random.Random, language: Language) -> str:
    """Draws a text that says nothing that can be seen in a scene of this language's world."""
    say = Speaker(rng, lexicon_of(language))
    about = say.weighted((3.0, "chat"), (3.0, "topics"), (4.0, "about_the_scene"), (1.5, "other_languages"), (1.5, ""))
    text = say.expand(_filled(say, say.rng.choice(_TABLES[about].wordings))) if about else _gibberish(say)
    text = with_articles(text)
    return say.pick(text, text, text.lower(), text[:1].upper() + text[1:]) or "?"


def _filled(say: Speaker, text: str) -> str:
    """Fills the slots of a text: "I like the {ONE}" with a kind of item."""
    kind = say.kind(plain=True)
    one, named = (kind.plural if say.chance(share) else kind.singular for share in (0.2, 0.5))
    box = say.pick(say.box, f"{say.pick('left', 'first', 'last', 'whole')} {say.box}")
    return text.format(ONE=one, KIND=named, BOX=box, VALUE=say.property(noun=False).singular, **_SLOTS)


def _gibberish(say: Speaker) -> str:
    """Random letters, neighbouring keys, digits and signs, or unrelated words."""
    how = say.weighted((3, "letters"), (1, "signs"), (1, "words"))
    if how == "words":
        if say.chance(0.5):
            return " ".join(say.rng.sample(_UNRELATED, say.rng.randint(2, 7)))
        made_of = (*say.kind(plain=True).plural.split(), say.box, *_SMALL_WORDS)  # what statements are made of
        return " ".join(say.rng.choices(made_of, k=say.rng.randint(5, 9)))
    if how == "signs":
        return "".join(say.rng.choices(_SIGNS, k=say.rng.randint(1, 10)))
    letters = say.rng.choice(_LETTERS)
    sizes = [say.rng.randint(2, 9) for _ in range(say.rng.randint(1, 6))]
    return " ".join("".join(say.rng.choices(letters, k=size)) for size in sizes)
