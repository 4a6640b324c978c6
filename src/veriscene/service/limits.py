"""What a service takes on, and how it refuses the rest."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Everything that a client could make large or slow is bounded."""

    body: int = 4 << 20  # bytes of a request
    questions: int = 256  # of one request
    letters: int = 4096  # of a statement; a statement has at most 256 words besides
    batch: int = 16  # questions judged together; larger batches need more padding and are no faster
    queue: int = 512  # questions that wait for a model
    workers: int = 2  # threads per model, and for other work
    jobs: int = 32  # pictures and explanations that wait
    judgements: int = 500  # to explain a verdict
    seconds: float = 10.0  # until a request is answered


class Busy(Exception):
    """Too much is waiting: the client should try again a little later."""


class TooLarge(Exception):
    """The request has more bytes than are read."""
