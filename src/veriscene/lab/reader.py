"""Trains a reader: from statements of the grammar, of the world's own dialect and of program files to their programs.

An epoch draws new statements, deterministically by (seed, epoch), in several processes; the network trains on those of
the last epochs while the next are drawn. Statements of similar length are trained on together, so that little of a
batch is padding, and on a GPU the steps of each shape are captured as a CUDA graph.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from veriscene import files, worlds
from veriscene.config import ReaderTraining
from veriscene.data.reader import (
    DIALECT,
    END,
    MAX_NGRAMS,
    OUTSIDE,
    PAD,
    PLAIN,
    SPECIAL_TOKENS,
    START,
    UNKNOWN,
    ReaderConfig,
    ngrams_of,
    split_words,
)
from veriscene.data.teacher.workers import Workers, usable_cores
from veriscene.english.grammar import VERSION, draw_alike
from veriscene.english.outside import outside
from veriscene.english.reading import reading_of
from veriscene.language.language import Language
from veriscene.language.program import read_programs
from veriscene.language.tokens import VALUE, program_of, tokens_of
from veriscene.models.reader import Reader, ReaderNetwork
from veriscene.output import Output, Progress, counted
from veriscene.training.optimization import EMA, Muon, matrices_apart, warmup_cosine
from veriscene.training.state import restore_progress, save_progress
from veriscene.world.schema import World

MIN_COUNT, MAX_VOCABULARY = 4, 1600  # rarer words are read by their letters
MAX_WORDS, MAX_TOKENS = 40, 64  # longer statements are not taught
WORDINGS = 3  # of each drawn statement
STATEMENTS_PER_BLOCK = 500
KEPT_EPOCHS = 6
SHOWN = 8  # of the first statements, as examples of what is taught
HELD_OUT = {"cuda": 1024, "cpu": 32}  # new statements that are read before each epoch
WARMUP_STEPS, CLIP_NORM, EMA_DECAY, WEIGHT_DECAY, SMOOTHING = 500, 1.0, 0.999, 0.02, 0.02
WINDOW = 32  # batches whose statements are drawn and sorted by length together
RATE_FLOOR = 0.02  # of the highest learning rate, at the end
LENGTH_STEP = 8  # lengths are padded to multiples of it, so that few graphs are captured
NUMBERS = range(31)  # that programs may contain, whether or not the first epoch has them

Lesson = tuple[str, str]  # the words of a statement, separated by blanks; the tokens of its program, by tabs
Rows = tuple[np.ndarray, np.ndarray]  # (lesson, place), (lesson, token)


def lesson(text: str, *tokens: str) -> Lesson:
    """Makes a lesson of a statement and the tokens of its program."""
    return " ".join(split_words(text)), "\t".join(tokens)


@dataclass(frozen=True)
class Lessons:
    """Draws statements in blocks, as a worker process does."""

    world: World
    settings: ReaderTraining

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
                found.append(lesson(outside(rng, language), OUTSIDE))
            elif dialect is not None and chance < settings.outside + settings.dialect:
                statement = dialect(rng, "full")
                found.append(lesson(statement.text, DIALECT, *tokens_of(statement.program)))
            elif chance < settings.outside + settings.dialect + (1 - settings.outside - settings.dialect) / WORDINGS:
                alike = draw_alike(rng, language, WORDINGS)
                tokens = [PLAIN, *tokens_of(alike[0].program)]
                found += [lesson(each.text, *tokens) for each in alike]
        return found


class Book:
    """Keeps lessons as arrays: words by their place in a growing table of distinct words, and tokens."""

    def __init__(self, reader: Reader) -> None:
        self.reader, self.token_numbers = reader, {token: number for number, token in enumerate(reader.tokens)}
        self.places: dict[str, int] = {"": 0}
        self.numbers, self.ngrams = [0], [(0,) * MAX_NGRAMS]

    def write(self, lessons: Sequence[Lesson]) -> Rows:
        """Returns the lessons without those that are too long or have unknown tokens."""
        split = [(words.split(" "), tokens.split("\t")) for words, tokens in lessons]
        known = [
            (words, tokens)
            for words, tokens in split
            if len(words) <= MAX_WORDS
            and len(tokens) < MAX_TOKENS
            and all(each in self.token_numbers for each in tokens)
        ]
        words = np.zeros((len(known), MAX_WORDS), np.int32)
        tokens = np.zeros((len(known), MAX_TOKENS), np.int32)
        for row, (statement, program) in enumerate(known):
            words[row, : len(statement)] = [self._place(word) for word in statement]
            tokens[row, : len(program) + 1] = [*(self.token_numbers[token] for token in program), END]
        return words, tokens

    def tables(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """Returns (word,) and (word, n-gram): the numbers of each distinct word and of its n-grams."""
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
    settings: ReaderTraining,
    *,
    programs: Sequence[Path] = (),
    examples: Sequence[Path] = (),
    start_from: Path | None = None,
    compact: bool = False,
    device: torch.device | None = None,
    output: Output | None = None,
    resume: bool = False,
) -> Reader:
    """Trains a reader and writes it to `out` after every epoch, with what is needed to resume beside it.

    Besides what is drawn it is taught the statements of `programs`, in the dialect of the world's corpus, and those of
    `examples`, in plain English. It begins with random weights or with those of the reader `start_from`, and has its
    sizes then. With `compact` the file's matrices have eight bits a weight.
    """
    device, output = device or torch.device("cpu"), output or Output()
    if given := [*programs, *examples]:
        output.say(f"reading {', '.join(map(str, given))}")
    # What must be the same to resume, besides the settings.
    sources = {
        "files": files.digest(given),
        "start_from": files.digest([start_from]) if start_from else "",
        "compact": compact,
        "grammar": VERSION,
    }
    language, state_file = worlds.language(world), out.with_suffix(".state.pt")
    own = [
        [
            lesson(each.text, wording, *tokens_of(each.program))
            for path in paths
            for each in read_programs(path, language)
        ]
        for wording, paths in ((DIALECT, programs), (PLAIN, examples))
    ]
    start = None if start_from is None else Reader.load(start_from)
    torch.manual_seed(settings.seed)
    processes = settings.workers or usable_cores()
    with closing(Workers(Lessons(world, settings), processes)) as workers, ThreadPoolExecutor(1) as ahead:
        output.say(f"drawing {counted(settings.statements, 'statement')} an epoch")
        first = _joined(workers.make(0))
        for taught in [each for each in first if each[1].startswith(PLAIN)][:: len(first) // SHOWN]:
            output.say(f'  "{taught[0]}" means: {_meaning(taught, language)}')
        reader = _new_reader(settings, language, [*first, *_joined(own)], start, device)
        reader.is_compact = compact
        training = _Training(reader, settings, own, device, sources)
        begin = 0

        def draw(epoch: int) -> Rows:
            return training.book.write(first if epoch == 0 else _joined(workers.make(epoch)))

        if resume:
            begin = training.restore(state_file)
            training.pool = [draw(epoch) for epoch in range(max(0, begin - KEPT_EPOCHS + 1), begin)]
        upcoming = ahead.submit(draw, begin)
        for epoch in range(begin, settings.epochs):
            training.add(upcoming.result())
            tables = training.book.tables(device)
            if epoch + 1 < settings.epochs:
                upcoming = ahead.submit(draw, epoch + 1)
            steps = partial(output.progress, text=f"epoch {epoch + 1} of {settings.epochs} (steps)")
            loss, exact = training.epoch(epoch, tables, steps)
            training.save(out, state_file, epoch + 1)
            output.say(
                f"epoch {epoch + 1} of {settings.epochs}: loss {loss:.4f}, new statements read exactly {exact:.1%}"
            )
    state_file.unlink(missing_ok=True)
    return reader


class _Training:
    def __init__(
        self,
        reader: Reader,
        settings: ReaderTraining,
        own: Sequence[Sequence[Lesson]],
        device: torch.device,
        sources: Mapping[str, object],
    ) -> None:
        """`own` are the lessons of program files, and those of files of plain English."""
        self.sources = sources
        self.reader, self.network, self.settings, self.device = reader, reader.network, settings, device
        self.book = Book(reader)
        self.own = [self.book.write(lessons) for lessons in own]
        is_cuda = device.type == "cuda"
        self.rate: Tensor | float = torch.zeros((), device=device) if is_cuda else 0.0
        group = {"params": list(self.network.parameters()), "weight_decay": WEIGHT_DECAY}
        self.optimizer = Muon(
            matrices_apart(self.network, group), lr=self.rate, betas=(0.9, 0.98), capturable=is_cuda, fused=is_cuda
        )
        self.ema = EMA(self.network, decay=EMA_DECAY)
        # Products and activations are in half precision where the chip has it; weights that are updated are not.
        has_bfloat16 = is_cuda or torch.cpu._is_avx512_bf16_supported()
        self.working = deepcopy(self.network).bfloat16() if has_bfloat16 else self.network
        self.pool: list[Rows] = []  # of the last epochs
        self.mean_length = torch.ones((), device=device)  # of a program, in tokens
        self.graphs: dict[tuple[int, int], tuple[torch.cuda.CUDAGraph, list[Tensor], Tensor]] = {}
        self.graph_pool = torch.cuda.graph_pool_handle() if is_cuda else None
        self.is_warm = False

    def add(self, rows: Rows) -> None:
        """Adds an epoch's lessons to those that are taught, in place of the oldest."""
        self.pool = [*self.pool[1 - KEPT_EPOCHS :], rows]

    def epoch(self, number: int, tables: tuple[Tensor, Tensor], progress: Progress) -> tuple[float, float]:
        """Trains for one epoch; returns the mean loss of a token, and how many of its own new statements were read
        exactly just before it, by the averaged weights."""
        settings = self.settings
        torch.manual_seed(settings.seed * 1_000_003 + number)  # of dropout
        exact = self._exact(tables)
        words, tokens = (np.concatenate(parts) for parts in zip(*self.pool, *self.own, strict=True))
        self.mean_length.fill_(float((tokens > 0).sum(1).mean()))
        taught = [torch.from_numpy(each).to(self.device) for each in (words, tokens)]
        lengths = (words > 0).sum(1), (tokens > 0).sum(1)
        total = torch.zeros((), device=self.device)
        self.working.train()
        for step, (rows, *shape) in enumerate(self._batches(number, *lengths), number * settings.steps):
            done = step / (settings.epochs * settings.steps)
            rate = settings.learning_rate * warmup_cosine(step, done, warmup=WARMUP_STEPS, floor=RATE_FLOOR)
            for group in self.optimizer.param_groups:
                group["lr"] = self.rate.fill_(rate) if isinstance(self.rate, Tensor) else rate
            which = torch.from_numpy(rows).to(self.device)
            placed, targets = (each[which, :length] for each, length in zip(taught, shape, strict=True))
            total += self._run(tables[0][placed], tables[1][placed], targets.long())
            self.ema.update(step)
            progress(step + 1 - number * settings.steps, settings.steps)
        return float(total) / settings.steps, exact

    def _batches(self, number: int, *lengths: np.ndarray) -> Iterator[tuple[np.ndarray, int, int]]:
        """Draws the rows of each step, and to what lengths words and tokens are padded."""
        size, steps, own = self.settings.batch, self.settings.steps, [len(words) for words, _ in self.own]
        rng, drawn = np.random.default_rng((self.settings.seed, number)), len(lengths[0]) - sum(own)
        for start in range(0, steps, WINDOW):
            rows, first = rng.integers(drawn, size=(min(WINDOW, steps - start), size)), drawn
            for count, share in zip(own, (self.settings.programs, self.settings.examples), strict=True):
                if count:
                    is_own = rng.random(rows.shape) < share
                    rows = np.where(is_own, first + rng.integers(count, size=rows.shape), rows)
                first += count
            order = np.lexsort([each[rows.flatten()] for each in lengths])
            for batch in rng.permutation(rows.flatten()[order].reshape(rows.shape)):
                longest = [int(each[batch].max()) for each in lengths]
                yield batch, *(-(-each // LENGTH_STEP) * LENGTH_STEP for each in longest)

    def _run(self, *inputs: Tensor) -> Tensor:
        """Runs one step, on a GPU as a graph."""
        if self.graph_pool is None or not self.is_warm:  # libraries initialise in the first step
            self.is_warm = True
            return self._step(*inputs)
        shape = inputs[0].size(1), inputs[2].size(1)
        if shape not in self.graphs:
            graph, own = torch.cuda.CUDAGraph(), [each.clone() for each in inputs]
            with torch.cuda.graph(graph, pool=self.graph_pool):
                loss = self._step(*own)
            self.graphs[shape] = graph, own, loss
        graph, own, loss = self.graphs[shape]
        torch._foreach_copy_(own, list(inputs))
        graph.replay()
        return loss

    def _step(self, words: Tensor, ngrams: Tensor, targets: Tensor) -> Tensor:
        """Makes one step: (batch, place), (batch, place, n-gram), (batch, token) -> the mean loss of a token."""
        is_dropped = torch.rand(words.shape, device=self.device) < self.settings.word_dropout
        read = torch.where(is_dropped & (words > 0), UNKNOWN, words)
        before = torch.cat([torch.full_like(targets[:, :1], START), targets[:, :-1]], 1)
        weights: list[Tensor] = list(self.network.parameters())
        working: list[Tensor] = list(self.working.parameters())
        if self.working is not self.network:
            with torch.no_grad():
                torch._foreach_copy_(working, weights)
        logits = self.working(read, ngrams, before).float().flatten(0, 1)
        loss = F.cross_entropy(logits, targets.flatten(), ignore_index=PAD, label_smoothing=SMOOTHING, reduction="sum")
        # Batches of long programs count for more: every token has the same weight, whatever it is trained with.
        loss = loss / (self.mean_length * len(words))
        for own, gradient in zip(weights, torch.autograd.grad(loss, working), strict=True):
            own.grad = gradient.float()
        nn.utils.clip_grad_norm_(weights, CLIP_NORM)
        self.optimizer.step()
        return loss.detach()

    @torch.inference_mode()
    def _exact(self, tables: tuple[Tensor, Tensor]) -> float:
        count = HELD_OUT[self.device.type]
        words, tokens = (torch.from_numpy(each[:count]).to(self.device).long() for each in self.pool[-1])
        with self.ema.applied():
            self.network.eval()
            given = (table[words].cpu().numpy() for table in tables)
            written = torch.from_numpy(self.reader.write(*given)[0]).to(self.device)
        size = min(written.size(1), tokens.size(1))
        is_same = (written[:, :size] == tokens[:, :size]).all(1) & (tokens[:, size:] == PAD).all(1)
        return float(is_same.float().mean())

    def save(self, out: Path, state_file: Path, epoch: int) -> None:
        with self.ema.applied():
            self.reader.save(out)
        save_progress(state_file, self.network, self.optimizer, self.ema, settings=self._settings, epoch=epoch)

    def restore(self, state_file: Path) -> int:
        """Continues where `save` was called last; returns the number of the next epoch."""
        position = restore_progress(state_file, self.network, self.optimizer, self.ema, settings=self._settings)
        return int(position["epoch"])

    @property
    def _settings(self) -> dict[str, object]:
        return {**asdict(self.settings), "workers": 0, **self.sources}  # the number of workers changes nothing


def _new_reader(
    settings: ReaderTraining, language: Language, lessons: Sequence[Lesson], start: Reader | None, device: torch.device
) -> Reader:
    """Returns an untrained reader that knows the words and tokens of these lessons, or one that grew from `start`."""
    words, tokens = _vocabularies(lessons)
    if start is None:
        config = ReaderConfig(
            words=len(words) + 2,
            tokens=len(tokens),
            dim=settings.dim,
            feedforward=4 * settings.dim,
            layers=settings.layers,
        )
        reader = Reader(ReaderNetwork(config).to(device), words, tokens, language)
    else:
        reader = _grown(start, words, tokens, language, device)
    reader.grammar = VERSION
    return reader


def _grown(
    start: Reader, words: Sequence[str], tokens: Sequence[str], language: Language, device: torch.device
) -> Reader:
    """Returns a reader with the weights of another; words and tokens that are new to it get random vectors."""
    words, tokens = (list(dict.fromkeys([*old, *new])) for old, new in ((start.words, words), (start.tokens, tokens)))
    config = replace(start.network.config, words=len(words) + 2, tokens=len(tokens))
    network = ReaderNetwork(config)
    weights = network.state_dict()
    with torch.no_grad():
        for name, weight in start.network.state_dict().items():
            weights[name][: len(weight)] = weight
    return Reader(network.to(device), words, tokens, language)


def _meaning(taught: Lesson, language: Language) -> str:
    return reading_of(program_of(taught[1].split("\t")[1:], language))


def _joined(blocks: Sequence[Sequence[Lesson]]) -> list[Lesson]:
    return [lesson for block in blocks for lesson in block]


def _vocabularies(lessons: Sequence[Lesson]) -> tuple[list[str], list[str]]:
    """Returns the frequent words, and all tokens."""
    counts = Counter(word for words, _ in lessons for word in words.split(" "))
    words = [word for word, count in counts.most_common(MAX_VOCABULARY) if count >= MIN_COUNT]
    tokens = dict.fromkeys([*SPECIAL_TOKENS, *(f"{VALUE}{number}" for number in NUMBERS)])
    tokens |= dict.fromkeys(token for _, program in lessons for token in program.split("\t"))
    return words, list(tokens)
