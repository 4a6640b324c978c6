"""Trains a reader: from statements of the grammar, of the world's own dialect and of program files to their programs.

An epoch draws new statements, deterministically by (seed, epoch), in several processes; the network trains on those of
the last epochs while the next are drawn.
"""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from veriscene import worlds
from veriscene.data.teacher.workers import Workers
from veriscene.english.grammar import draw_alike
from veriscene.english.outside import outside
from veriscene.errors import InputError
from veriscene.language.program import read_programs
from veriscene.language.tokens import VALUE, tokens_of
from veriscene.models.reader import (
    DIALECT,
    END,
    MAX_NGRAMS,
    OUTSIDE,
    PAD,
    PLAIN,
    SPECIAL_TOKENS,
    START,
    UNKNOWN,
    Reader,
    ReaderConfig,
    ReaderNetwork,
    ngrams_of,
    split_words,
)
from veriscene.training.optimization import EMA
from veriscene.world.schema import World

MIN_COUNT, MAX_VOCABULARY = 4, 8000
MAX_WORDS, MAX_TOKENS = 40, 64  # longer statements are not taught
WORDINGS = 3  # of each drawn statement
STATEMENTS_PER_BLOCK = 500
KEPT_EPOCHS = 6
HELD_OUT = {"cuda": 1024, "cpu": 32}  # new statements that are read before each epoch
WARMUP_STEPS, CLIP_NORM, EMA_DECAY, WEIGHT_DECAY, SMOOTHING = 500, 1.0, 0.999, 0.02, 0.02
NUMBERS = range(31)  # that programs may contain, whether or not the first epoch has them

Lesson = tuple[list[str], list[str]]  # the words of a statement, the tokens of its program


@dataclass(frozen=True)
class Settings:
    """How a reader is trained."""

    epochs: int = 20
    statements: int = 150_000  # drawn in each epoch
    steps: int = 1_200  # of each epoch
    batch: int = 512
    learning_rate: float = 8e-4
    dialect: float = 0.25  # share of statements in the world's own dialect, where it has one
    outside: float = 0.04  # share of texts that are not about a scene
    programs: float = 0.06  # share of a batch that comes from program files, if there are any
    word_dropout: float = 0.08  # share of words of which only the letters are read
    dim: int = 256  # of the network
    layers: int = 4  # of its encoder and of its decoder
    seed: int = 0
    workers: int = 1


@dataclass(frozen=True)
class Lessons:
    """Draws statements in blocks, as a worker process does."""

    world: World
    settings: Settings

    @property
    def blocks(self) -> int:
        return -(-self.settings.statements // STATEMENTS_PER_BLOCK)

    def make(self, epoch: int, block: int) -> list[Lesson]:
        """Draws one block of an epoch."""
        settings, language = self.settings, worlds.language(self.world)
        rng = random.Random(f"{settings.seed} {epoch} {block}")
        dialect = worlds.ability(self.world, "draw_statement")
        found: list[Lesson] = []
        while len(found) < STATEMENTS_PER_BLOCK:
            chance = rng.random()
            if chance < settings.outside:
                found.append((split_words(outside(rng, language)), [OUTSIDE]))
            elif dialect is not None and chance < settings.outside + settings.dialect:
                statement = dialect(rng, "full")
                found.append((split_words(statement.text), [DIALECT, *tokens_of(statement.program)]))
            elif chance < settings.outside + settings.dialect + (1 - settings.outside - settings.dialect) / WORDINGS:
                alike = draw_alike(rng, language, WORDINGS)
                tokens = [PLAIN, *tokens_of(alike[0].program)]
                found += [(split_words(each.text), tokens) for each in alike]
        return [lesson for lesson in found if len(lesson[0]) <= MAX_WORDS and len(lesson[1]) < MAX_TOKENS]


class Book:
    """Lessons as arrays: words by their place in a growing table of distinct words, and tokens."""

    def __init__(self, reader: Reader) -> None:
        self.reader, self.token_numbers = reader, {token: number for number, token in enumerate(reader.tokens)}
        self.places: dict[str, int] = {"": 0}
        self.numbers, self.ngrams = [0], [(0,) * MAX_NGRAMS]

    def write(self, lessons: Sequence[Lesson]) -> tuple[Tensor, Tensor]:
        """(lesson, place), (lesson, token), without lessons that have unknown tokens."""
        known = [each for each in lessons if all(token in self.token_numbers for token in each[1])]
        words = np.zeros((len(known), MAX_WORDS), np.int32)
        tokens = np.zeros((len(known), MAX_TOKENS), np.int16)
        for row, (statement, program) in enumerate(known):
            words[row, : len(statement)] = [self._place(word) for word in statement]
            tokens[row, : len(program) + 1] = [*(self.token_numbers[token] for token in program), END]
        return torch.from_numpy(words), torch.from_numpy(tokens)

    def tables(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """(word,), (word, n-gram): the numbers of each distinct word and of its n-grams."""
        return torch.tensor(self.numbers, device=device), torch.tensor(np.array(self.ngrams), device=device)

    def _place(self, word: str) -> int:
        if word not in self.places:
            self.places[word] = len(self.numbers)
            self.numbers.append(self.reader.numbers.get(word, UNKNOWN))
            self.ngrams.append(ngrams_of(word, self.reader.network.config.ngrams))
        return self.places[word]


def train(
    world: World,
    out: Path,
    settings: Settings,
    *,
    programs: Sequence[Path] = (),
    device: torch.device | None = None,
    say: Callable[[str], None] = print,
    resume: bool = False,
) -> Reader:
    """Trains a reader and writes it to `out` after every epoch, with what is needed to resume beside it."""
    device = device or torch.device("cpu")
    language, state_file = worlds.language(world), out.with_suffix(".state.pt")
    own = [
        (split_words(each.text), [DIALECT, *tokens_of(each.program)])
        for path in programs
        for each in read_programs(path, language)
    ]
    own = [lesson for lesson in own if len(lesson[0]) <= MAX_WORDS and len(lesson[1]) < MAX_TOKENS]
    torch.manual_seed(settings.seed)
    with closing(Workers(Lessons(world, settings), settings.workers)) as workers, ThreadPoolExecutor(1) as ahead:
        say(f"drawing {settings.statements:,} statements an epoch")
        first = _joined(workers.make(0))
        words, tokens = _vocabularies([*first, *own])
        sizes = {"dim": settings.dim, "feedforward": 4 * settings.dim, "layers": settings.layers}
        config = ReaderConfig(words=len(words) + 2, tokens=len(tokens), **sizes)
        network = ReaderNetwork(config).to(device)
        reader = Reader(network, words, tokens, language)
        training = _Training(reader, settings, own, device)
        begin = 0

        def draw(epoch: int) -> list[Lesson]:
            return first if epoch == 0 else _joined(workers.make(epoch))

        if resume:
            begin = training.restore(state_file)
            for epoch in range(max(0, begin - KEPT_EPOCHS), begin):
                training.add(draw(epoch))
        upcoming = ahead.submit(draw, begin)
        for epoch in range(begin, settings.epochs):
            training.add(upcoming.result())
            if epoch + 1 < settings.epochs:
                upcoming = ahead.submit(draw, epoch + 1)
            loss, exact = training.epoch(epoch)
            training.save(out, state_file, epoch + 1)
            say(f"epoch {epoch + 1} of {settings.epochs}: loss {loss:.4f}, new statements read exactly {exact:.1%}")
    state_file.unlink(missing_ok=True)
    return reader


class _Training:
    def __init__(self, reader: Reader, settings: Settings, own: Sequence[Lesson], device: torch.device) -> None:
        self.reader, self.network, self.settings, self.device = reader, reader.network, settings, device
        self.book = Book(reader)
        self.own = [each.to(device) for each in self.book.write(own)] if own else None
        self.optimizer = torch.optim.AdamW(
            self.network.parameters(), betas=(0.9, 0.98), weight_decay=WEIGHT_DECAY, fused=device.type == "cuda"
        )
        self.ema = EMA(self.network, decay=EMA_DECAY)
        self.pool: list[tuple[Tensor, Tensor]] = []  # of the last epochs

    def add(self, lessons: Sequence[Lesson]) -> None:
        """Adds an epoch's lessons to those that are taught, in place of the oldest."""
        words, tokens = self.book.write(lessons)
        self.pool = [*self.pool[1 - KEPT_EPOCHS :], (words.to(self.device), tokens.to(self.device))]

    def epoch(self, number: int) -> tuple[float, float]:
        """Trains for one epoch; returns the mean loss, and how many of its own new statements were read exactly just
        before it, by the averaged weights."""
        settings = self.settings
        generator = torch.Generator(self.device).manual_seed(settings.seed * 1_000_003 + number)
        torch.manual_seed(settings.seed * 1_000_003 + number)  # of dropout
        tables = self.book.tables(self.device)
        exact = self._exact(tables, generator)
        words, tokens = (torch.cat(parts) for parts in zip(*self.pool, strict=True))
        total = torch.zeros((), device=self.device)
        self.network.train()
        for step in range(settings.steps):
            done = (number * settings.steps + step) / (settings.epochs * settings.steps)
            warm = min(1.0, (number * settings.steps + step + 1) / WARMUP_STEPS)
            rate = settings.learning_rate * warm * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * done)))
            self.optimizer.param_groups[0]["lr"] = rate
            total += self._step(self._batch(words, tokens, generator), tables, generator)
            self.ema.update(number * settings.steps + step)
        return float(total) / settings.steps, exact

    def _batch(self, words: Tensor, tokens: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        size = self.settings.batch
        which = torch.randint(len(words), (size,), device=self.device, generator=generator)
        parts = [(words[which], tokens[which])]
        if self.own is not None:
            count = round(self.settings.programs * size)
            which = torch.randint(len(self.own[0]), (count,), device=self.device, generator=generator)
            parts = [(parts[0][0][count:], parts[0][1][count:]), (self.own[0][which], self.own[1][which])]
        drawn, targets = (torch.cat(each).long() for each in zip(*parts, strict=True))
        return drawn[:, : _longest(drawn)], targets[:, : _longest(targets)]

    def _step(self, batch: tuple[Tensor, Tensor], tables: tuple[Tensor, Tensor], generator: torch.Generator) -> Tensor:
        (words, targets), (numbers, ngrams) = batch, tables
        is_dropped = torch.rand(words.shape, device=self.device, generator=generator) < self.settings.word_dropout
        read = torch.where(is_dropped & (words > 0), UNKNOWN, numbers[words])
        before = torch.cat([torch.full_like(targets[:, :1], START), targets[:, :-1]], 1)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            logits = self.network(read, ngrams[words].long(), before)
        loss = F.cross_entropy(
            logits.float().flatten(0, 1), targets.flatten(), ignore_index=PAD, label_smoothing=SMOOTHING
        )
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.network.parameters(), CLIP_NORM)
        self.optimizer.step()
        return loss.detach()

    @torch.inference_mode()
    def _exact(self, tables: tuple[Tensor, Tensor], generator: torch.Generator) -> float:
        words, tokens = self.pool[-1]
        count = HELD_OUT[self.device.type]
        which = torch.randint(len(words), (count,), device=self.device, generator=generator)
        words, tokens = words[which].long(), tokens[which].long()
        with self.ema.applied():
            self.network.eval()
            written, *_ = self.network.write(tables[0][words], tables[1][words].long(), MAX_TOKENS)
        size = min(written.size(1), tokens.size(1))
        is_same = (written[:, :size] == tokens[:, :size]).all(1) & (tokens[:, size:] == PAD).all(1)
        return float(is_same.float().mean())

    def save(self, out: Path, state_file: Path, epoch: int) -> None:
        with self.ema.applied():
            self.reader.save(out)
        state = {
            "epoch": epoch,
            "settings": json.dumps(asdict(self.settings)),
            "network": self.network.state_dict(),
            "ema": self.ema.weights,
            "optimizer": self.optimizer.state_dict(),
        }
        partial = state_file.with_suffix(".partial")
        torch.save(state, partial)
        partial.replace(state_file)

    def restore(self, state_file: Path) -> int:
        """Continues where `save` was called last; returns the number of the next epoch."""
        if not state_file.exists():
            raise InputError("there is nothing to resume", where=state_file, allowed="leave out --resume")
        state = torch.load(state_file, map_location=self.device, weights_only=True)
        ours = json.dumps({**asdict(self.settings), "workers": 0})
        if json.dumps({**json.loads(state["settings"]), "workers": 0}) != ours:
            raise InputError("was made with other settings", where=state_file, allowed="give the same options")
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.ema.weights = state["ema"]
        return int(state["epoch"])


def _joined(blocks: Sequence[Sequence[Lesson]]) -> list[Lesson]:
    return [lesson for block in blocks for lesson in block]


def _vocabularies(lessons: Sequence[Lesson]) -> tuple[list[str], list[str]]:
    """Returns the frequent words, and all tokens."""
    counts = Counter(word for statement, _ in lessons for word in statement)
    words = [word for word, count in counts.most_common(MAX_VOCABULARY) if count >= MIN_COUNT]
    tokens = dict.fromkeys([*SPECIAL_TOKENS, *(f"{VALUE}{number}" for number in NUMBERS)])
    tokens |= dict.fromkeys(token for _, program in lessons for token in program)
    return words, list(tokens)


def _longest(rows: Tensor) -> int:
    return int((rows != 0).any(0).sum())
