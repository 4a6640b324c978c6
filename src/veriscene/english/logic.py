"""Sentences of several clauses: and, or, but, if, unless, neither nor."""

from __future__ import annotations

from collections.abc import Callable

from veriscene.english.speaker import Sentence, Speaker


def combined(say: Speaker, draw: Callable[[Speaker], Sentence | None]) -> Sentence | None:
    """Returns a drawn sentence or several of them joined."""
    return draw(say)
