"""The forms in which a sentence is said: statement, question, note, chat; and how people spell."""

from __future__ import annotations

from veriscene.english.pattern import note, question, statement, with_articles
from veriscene.english.speaker import Sentence, Speaker


def spoken(say: Speaker, sentence: Sentence) -> str:
    """Returns a sentence in one of its forms."""
    text = say.expand(sentence.text)
    form = say.weighted((6, "statement"), (1.5, "question"), (1, "note"))
    if form == "question":
        words = question(text) + say.pick("?", "?", "")
    elif form == "note":
        words = note(text)
    else:
        words = statement(text) + say.pick(".", "")
    words = with_articles(words)
    return words[0].upper() + words[1:] if say.chance(0.6) else words
