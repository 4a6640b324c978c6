"""One process has the GPU and runs networks there; others read, encode, combine and write, with judges whose networks
are in the first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from os import urandom
from threading import Event, Lock, Thread
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veriscene.data.encoder import Encoded
from veriscene.data.eyes import PictureReader, Pixels
from veriscene.data.reader import Array, ProgramReader
from veriscene.judge.judge import FIELDS, EyesJudge, Judge, NetworkJudge, ReaderJudge

Answers = Mapping[str, Callable[..., Any]]  # what is asked for, by name


class Channel:
    """Leads to the process that answers. Can be pickled; each process has a connection of its own."""

    def __init__(self, address: Any, key: bytes) -> None:
        self.address, self.key = address, key

    def __reduce__(self) -> tuple[Any, ...]:
        return Channel, (self.address, self.key)

    @cached_property
    def connection(self) -> Connection:
        return Client(self.address, authkey=self.key)

    def ask(self, name: str, *arguments: Any) -> Any:
        """Returns what the function of that name returns there, or raises what it raises."""
        self.connection.send((name, arguments))
        if isinstance(answer := self.connection.recv(), Exception):
            raise answer
        return answer


class RemoteNetwork(NetworkJudge):
    def __init__(self, judge: NetworkJudge, channel: Channel) -> None:
        self.encoder, self.order, self.name, self.metrics = judge.encoder, judge.order, judge.name, judge.metrics
        self.reader = None if judge.reader is None else RemoteReader(judge.reader, channel)
        self.channel = channel

    def run(self, encoded: Encoded, fields: Collection[str] = FIELDS) -> dict[str, Array]:
        judged: dict[str, Array] = self.channel.ask("run", encoded, tuple(fields))
        return judged


class RemoteReader(ProgramReader):
    def __init__(self, reader: ProgramReader, channel: Channel) -> None:
        super().__init__(reader.config, reader.words, reader.tokens, reader.language)
        self.channel = channel

    def write(self, words: Array, ngrams: Array, is_brief: Array | None = None) -> tuple[Array, Array, Array]:
        # Most of what is sent; a table of n-grams has fewer rows than 32 bits can count.
        given = words.astype(np.int32), ngrams.astype(np.int32 if self.config.ngrams > 1 << 15 else np.int16)
        written: tuple[Array, Array, Array] = self.channel.ask("write", *given, is_brief)
        return written


class RemoteEyes(PictureReader):
    def __init__(self, channel: Channel) -> None:
        self.channel = channel

    def see(self, pictures: Pixels) -> NDArray[np.float32]:
        seen: NDArray[np.float32] = self.channel.ask("see", pictures)
        return seen


@contextmanager
def served(judge: Judge) -> Iterator[Judge]:
    """Yields a judge that other processes can be given, whose networks are those of `judge`, in this process."""
    key, answers, lock = urandom(32), dict(_answers(judge)), Lock()

    def answer(connection: Connection) -> None:
        with connection, suppress(EOFError, OSError):  # the other process has ended
            while True:
                name, arguments = connection.recv()
                try:
                    with lock:  # a GPU is no faster with several tasks at once
                        found = answers[name](*arguments)
                except Exception as error:
                    found = error
                connection.send(found)

    is_over = Event()
    with Listener(backlog=1024, authkey=key) as listener:

        def accept() -> None:
            while not is_over.is_set():
                with suppress(AuthenticationError, EOFError, OSError):  # a process that ended before it was accepted
                    Thread(target=answer, args=[listener.accept()], daemon=True).start()

        Thread(target=accept, daemon=True).start()
        try:
            yield _remote(judge, Channel(listener.address, key))
        finally:
            is_over.set()


def _answers(judge: Judge) -> Iterator[tuple[str, Callable[..., Any]]]:
    if isinstance(judge, EyesJudge):
        yield "see", judge.eyes.see
        yield from _answers(judge.judge)
    if isinstance(judge, NetworkJudge):
        yield "run", judge.run
    if judge.reader is not None:
        yield "write", judge.reader.write


def _remote(judge: Judge, channel: Channel) -> Judge:
    if isinstance(judge, EyesJudge):
        return EyesJudge(_remote(judge.judge, channel), RemoteEyes(channel))
    if isinstance(judge, NetworkJudge):
        return RemoteNetwork(judge, channel)
    assert judge.reader is not None
    return ReaderJudge(RemoteReader(judge.reader, channel))
