"""Where training examples come from. A corpus folder is one source; a teacher that makes examples is another."""

from __future__ import annotations

import threading
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from math import ceil
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from veriscene import models, worlds
from veriscene.config import Config, DataConfig, TeacherConfig
from veriscene.data.batch import Batch
from veriscene.data.encoder import Input, ItemOrder
from veriscene.data.items import Items, in_reading_order
from veriscene.data.spelling import drop_words, mistype_words
from veriscene.data.teacher.maker import Made, Maker, Store, label
from veriscene.data.teacher.statements import Taught, draw_statements, read_statements
from veriscene.data.teacher.workers import Workers, usable_cores
from veriscene.data.vocabulary import SPECIAL, Vocabulary
from veriscene.english.reading import reading_of
from veriscene.errors import InputError
from veriscene.language.bulk.arrays import ITEM, STATE, Array, SceneArrays
from veriscene.language.bulk.random_scenes import by_kind
from veriscene.language.program import Program
from veriscene.output import Progress, counted, silent
from veriscene.world import corpus
from veriscene.world.corpus import split_file
from veriscene.world.examples import Example, normalized
from veriscene.world.scene import Scene
from veriscene.world.schema import World


@dataclass(frozen=True)
class Epoch:
    """Holds the examples of an epoch and the batches that its steps make of them."""

    corpus: Batch
    steps: list[Tensor]  # for each step, the indices of its examples
    names: Callable[[Tensor], list[str]]  # says which examples have these indices, in an error


@dataclass(frozen=True)
class Given:
    """Holds what a source is made from."""

    config: Config
    world: World
    train: Sequence[Example]
    dev: Sequence[Example]
    supervision: str  # labels | synthetic | programs
    vocabulary: Vocabulary | None = None  # None: that of the texts that are learned from


class Source(ABC):
    """`epoch` is deterministic given (seed, number), so that a resumed run sees what an uninterrupted one sees.

    Every epoch has the same number of examples and steps, and batches of the same padded shape.
    """

    train: Batch  # what models are prepared or fitted on: the whole corpus, or a sample of what a teacher makes
    remark: str = ""  # what the user should know about the examples, as soon as the first epoch was made

    def __init__(self, given: Given, texts: Sequence[str]) -> None:
        """`texts` are the statements that are learned from."""
        config, vocabulary = given.config, given.vocabulary or vocabulary_of(texts, given.config.data)
        self.settings, self.data, self.supervision = config.training, config.data, given.supervision
        self.identifiers = [example.identifier for example in given.train]
        self.coverage = vocabulary.coverage(texts)  # the share of their words that the vocabulary contains
        self.encoder = models.encoder(config, vocabulary, given.world)  # for inference
        self.dev_examples, self.dev = given.dev, self.encoder(labelled(given.dev, "dev"))

    @property
    def introduction(self) -> str:
        """Says what is taught, where that is not a corpus."""
        return ""

    @property
    @abstractmethod
    def fingerprint(self) -> int:
        """Changes with any word, item or label of the train or dev examples."""

    @property
    def examples_per_epoch(self) -> int:
        """Returns how many examples every epoch has."""
        return len(self.train)

    @property
    def steps_per_epoch(self) -> int:
        """Returns how many steps every epoch has."""
        return ceil(self.examples_per_epoch / self.settings.batch)

    @abstractmethod
    def epoch(self, number: int) -> Epoch:
        """Returns the examples of an epoch; waits until they are made."""

    def draw_steps(self, number: int, lengths: Tensor) -> tuple[list[Tensor], torch.Generator]:
        """Draws the batches of an epoch; also returns the generator of all else that is random in it."""
        generator = torch.Generator().manual_seed(self.settings.seed * 1_000_003 + number)
        size, window = self.settings.batch, self.settings.window
        return batches(lengths, size=size, window=window, generator=generator), generator

    def misspelt(self, corpus: Batch, generator: torch.Generator) -> Batch:
        """Returns the examples with new typing errors and without some of the words."""
        corpus = mistype_words(corpus, self.data.typing_noise, self.encoder.vocabulary, generator)
        return drop_words(corpus, self.data.word_dropout, generator)

    def pending(self, number: int) -> str:
        """Says what `epoch` would wait for; empty if nothing."""
        return ""

    def transform(self, function: Callable[[Batch], Batch]) -> None:
        """Replaces train and dev examples by what `function` makes of them; the fingerprint stays the original's."""
        _ = self.fingerprint
        self.train, self.dev = function(self.train), function(self.dev)

    def to(self, device: torch.device) -> None:
        """Moves the examples, of which epochs are made, to a device."""
        self.transform(lambda examples: examples.to(device))

    def close(self) -> None:  # noqa: B027 (most sources have nothing to end)
        """Ends what makes examples in the background; no epoch is asked for afterwards."""


class CorpusSource(Source):
    """Draws random batches of a corpus; orders, typing errors and dropped words are redrawn each epoch."""

    def __init__(self, given: Given, progress: Progress = silent) -> None:
        """`progress` tells how many pictures are read, which takes a while."""
        super().__init__(given, [example.statement for example in labelled(given.train, "train")])
        # A random order is drawn from that of the file, whatever the order of inference.
        is_random = self.encoder.order is ItemOrder.RANDOM
        self.train = (replace(self.encoder, order=ItemOrder.FILE) if is_random else self.encoder)(given.train, progress)

    @classmethod
    def open(
        cls,
        config: Config,
        folder: Path,
        progress: Progress = silent,
        *,
        vocabulary: Vocabulary | None = None,
        world: World | None = None,
    ) -> CorpusSource:
        """Opens the train and dev splits of a corpus folder, in the corpus's world unless another is given.

        Models of pixels see its pictures, which must then be complete; the pictures of a split without a folder
        `images` are rendered.
        """
        reads_pixels = Input.PIXELS in models.MODELS[config.model.name].inputs
        world = world or worlds.of_corpus(folder)
        splits: list[list[Example]] = []
        for split in ("train", "dev"):
            file = corpus.split_file(folder, split)
            examples, images = worlds.read(file, world), file.parent / "images"
            if reads_pixels and images.is_dir():
                examples = worlds.require(world, "with_pictures", "picture files")(examples, images, split)
            splits.append(examples)
        train, dev = splits
        part = corpus.share_of(train, config.data.train_share, seed=config.training.seed)
        source = cls(Given(config, world, part, dev, corpus.supervision(folder), vocabulary), progress)
        if len(part) < len(train):
            source.remark = f"trains on {len(part):,} of {len(train):,} train examples (data.train_share)"
        return source

    @cached_property
    def fingerprint(self) -> int:
        return zlib.crc32(f"{self.train.fingerprint()} {self.dev.fingerprint()}".encode())

    def epoch(self, number: int) -> Epoch:
        steps, generator = self.draw_steps(number, self.train.statement.lengths.cpu())
        corpus = self.misspelt(self.train, generator)
        if self.encoder.order is ItemOrder.RANDOM and corpus.items is not None:
            corpus = replace(corpus, items=in_reading_order(corpus.items, ItemOrder.RANDOM, generator))
        return Epoch(corpus, steps, lambda numbers: [self.identifiers[number] for number in numbers.tolist()])


def vocabulary_of(statements: Sequence[str], data: DataConfig) -> Vocabulary:
    """Collects the words to learn; raises InputError if there are none."""
    vocabulary = Vocabulary.of(statements, minimum_count=data.minimum_count, counting=data.counting)
    if len(vocabulary) == len(SPECIAL):
        often = counted(data.minimum_count, "time")
        what = f"no word occurs {often} in the train {data.counting}, so none would be learned"
        raise InputError(what, allowed="lower data.minimum_count or add statements")
    return vocabulary


def batches(lengths: Tensor, *, size: int, window: int, generator: torch.Generator) -> list[Tensor]:
    """Draws random batches of `size`, as indices; every example occurs once.

    Within each `window` batches' worth of examples, statements are grouped by length, to save padding; the batches
    then come in random order.
    """
    shuffled = torch.randperm(len(lengths), generator=generator)
    windows = torch.split(shuffled, size * window)
    grouped = [batch for some in windows for batch in torch.split(some[lengths[some].argsort(stable=True)], size)]
    return [grouped[number] for number in torch.randperm(len(grouped), generator=generator).tolist()]


def labelled(examples: Sequence[Example], split: str) -> Sequence[Example]:
    """Returns the examples themselves; raises InputError if there are none, or if one has no label."""
    if not examples:
        raise InputError(f"the {split} split holds no examples")
    for example in examples:
        if example.label is None:
            what = f"{example.identifier!r}: label is missing"
            raise InputError(what, where=example.place, allowed=f"every {split} example needs true or false")
    return examples


# ---------------------------------------------------------------- a teacher


SAMPLE_BLOCKS = 4  # on which models are prepared
SHOWN = 5  # statements in the introduction
NAMED = 3  # statements of a batch in an error
# Of dev where there is no corpus. No other seed is as large, so that neither statements nor scenes are those of train.
DEV_STATEMENTS, DEV_SCENES, DEV_SEED = 500, 4, 2**40


@dataclass(frozen=True)
class Prepared:
    """Holds an epoch whose examples are not on the device yet."""

    made: Made
    steps: list[Tensor]
    generator: Tensor  # the state of the one that draws the rest


class TeacherSource(Source):
    """Makes new labelled scenes for each statement in each epoch; while one trains, processes make the next."""

    def __init__(self, given: Given, statements: Sequence[Taught]) -> None:
        """Takes the scenes of the train examples, if there are any."""
        config, train = given.config, given.train
        if Input.PIXELS in models.MODELS[config.model.name].inputs:
            what = f"a teacher makes scenes, not pictures, and {config.model.name} reads pixels"
            raise InputError(what, allowed="choose a model of items, as biatt")
        if config.data.counting == "examples":
            what = "data.counting=examples has no effect with a teacher, which makes any number of examples"
            raise InputError(what, allowed="data.counting=statements")
        self.teacher, self.statements = config.teacher, statements
        texts = [each.text for each in statements]
        super().__init__(given, texts)
        self.maker = Maker(
            world=given.world,
            statements=statements,
            pools=by_kind(SceneArrays.of(given.world, [example.scene for example in train])),
            seed=self.teacher.seed,
            near_misses=self.teacher.near_misses,
            generated=self.teacher.generated,
        )
        # Everything but scenes depends on the statement alone, so it is encoded once.
        by_statement = replace(self.encoder, inputs=self.encoder.inputs - {Input.ITEMS})
        self.table = replace(by_statement([Example("0-0", text, Scene(())) for text in texts]), labels=None)
        self.lengths = self.table.statement.lengths  # stays on the CPU, where batches are drawn
        self.workers = Workers(self.maker, _worker_count(self.teacher))
        self.store = Store(given.world, self._inputs(), statements=len(texts))
        self._next: tuple[int, Future[Prepared]] | None = None
        if models.MODELS[config.model.name].is_fitted:
            sample = self._wait_for(0).made
        else:
            few = np.linspace(0, self.maker.blocks - 1, SAMPLE_BLOCKS).astype(int)
            sample = Made.joined([self.maker.make(0, block) for block in dict.fromkeys(few.tolist())])
        self.train = self._encode(sample, torch.device("cpu"), torch.Generator().manual_seed(0))

    @classmethod
    def open(
        cls,
        config: Config,
        folder: Path | None,
        programs: Sequence[Path],
        progress: Progress = silent,
        *,
        vocabulary: Vocabulary | None = None,
        world: World | None = None,
    ) -> TeacherSource:
        """Takes statements from program files and the grammar, scenes and dev examples from a corpus folder. The world
        is that of the corpus unless another one is given. Without a folder, dev has new statements on random scenes."""
        teacher, train, dev = config.teacher, list[Example](), list[Example]()
        world = world or (worlds.get() if folder is None else worlds.of_corpus(folder))
        if folder is not None:
            train, dev = (worlds.read(split_file(folder, split), world) for split in ("train", "dev"))
            if not train:
                raise InputError("the train split holds no examples", where=folder)
        statements = [each for path in programs for each in read_statements(path, world, scenes=teacher.scenes)]
        workers = _worker_count(teacher)
        statements += draw_statements(world, teacher, workers, progress, known=statements)
        if folder is None:
            count, seed = min(DEV_STATEMENTS, len(statements)), DEV_SEED + teacher.seed
            settings = replace(teacher, statements=count, seed=seed, grammar_scenes=DEV_SCENES)
            new = draw_statements(world, settings, workers, progress, known=statements, held_out=True)
            dev = label(world, new, seed=seed)
        progress(1, 1)
        supervision = "programs" if programs else "synthetic"
        return cls(Given(config, world, train, dev, supervision, vocabulary), statements)

    @property
    def introduction(self) -> str:
        few = self.statements[:: max(1, len(self.statements) // SHOWN)][:SHOWN]
        lines = [f'  "{each.text}" means: {reading_of(each.program)}' for each in few]
        return "\n".join(["it is taught, for example:", *lines])

    # ------------------------------------------------------------ the contract of a source

    @cached_property
    def fingerprint(self) -> int:
        """Returns a checksum of all that determines the examples of each epoch, but `training.seed`."""
        result = zlib.crc32(repr((self.table.fingerprint(), self.dev.fingerprint())).encode())
        for each in self._inputs():
            result = zlib.crc32(each, result)
        return result

    def _inputs(self) -> Iterator[bytes]:
        """Yields all that determines scenes and labels of each epoch; they are the same for every `training.seed`."""
        yield repr(self.encoder.world).encode()
        yield repr({key: value for key, value in asdict(self.teacher).items() if key != "workers"}).encode()
        for each in self.statements:
            yield f"{each.kind} {each.scenes} {each.program.text}".encode()
        for pool in self.maker.pools.values():
            yield pool.fields.tobytes()

    @property
    def examples_per_epoch(self) -> int:
        return self.maker.examples

    def epoch(self, number: int) -> Epoch:
        prepared, generator = self._wait_for(number), torch.Generator()
        generator.set_state(prepared.generator)
        if number + 1 < self.settings.epochs:
            self._future(number + 1)
        corpus = self.misspelt(self._encode(prepared.made, self.train.device, generator), generator)
        return Epoch(corpus, prepared.steps, lambda numbers: self._names(prepared.made.statements[numbers.numpy()]))

    def _names(self, statements: Array) -> list[str]:
        """Returns a few of the statements."""
        texts = [repr(self.statements[number].text) for number in dict.fromkeys(statements.tolist())]
        more = [counted(len(texts) - NAMED, "more statement")] if len(texts) > NAMED else []
        return [*texts[:NAMED], *more]

    def pending(self, number: int) -> str:
        if self._future(number).done():
            return ""
        if self.store.waits:
            return "another run is making the same examples"
        return f"making examples: {self.workers.made / self.workers.maker.blocks:.0%}"

    def close(self) -> None:
        self.workers.close()

    # ------------------------------------------------------------ preparing an epoch while another one trains

    def _wait_for(self, number: int) -> Prepared:
        prepared = self._future(number).result()
        self.remark = self._remark(prepared.made)
        return prepared

    def _future(self, number: int) -> Future[Prepared]:
        """Starts to make an epoch in the background, unless it is the one that is being made or was made last. A daemon
        thread keeps no process from ending."""
        if self._next is not None:
            if self._next[0] == number:
                return self._next[1]
            self._next[1].exception()  # the workers make one epoch at a time
        future: Future[Prepared] = Future()
        self._next = number, future

        def run() -> None:
            try:
                made = self.store.epoch(number, lambda: Made.joined(self.workers.make(number)))
                steps, generator = self.draw_steps(number, self._sizes(made))
                future.set_result(Prepared(made, steps, generator.get_state()))
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=run, daemon=True).start()
        return future

    def _sizes(self, made: Made) -> Tensor:
        """Returns what batches are grouped by, to save padding: first whether a box is more than half full, then the
        statement's length. A model of pairs of items takes a quarter of the time for half the items."""
        lengths = self.lengths[torch.from_numpy(made.statements).long()]
        half = made.scenes.layout.items // 2
        is_full = torch.from_numpy(made.scenes.mask[:, :, half:].any(axis=(1, 2)))
        return lengths + (1 + int(self.lengths.max())) * is_full

    def _encode(self, made: Made, device: torch.device, generator: torch.Generator) -> Batch:
        """`generator` draws item orders, where they are random."""
        if self.table.device != device:
            self.table = self.table.to(device)
        which = torch.from_numpy(made.statements).to(device).long()
        corpus = self.table.map(lambda tensor: tensor[which])
        items = None
        if Input.ITEMS in self.encoder.inputs:
            items = in_reading_order(_items(made.scenes, device), self.encoder.order, generator)
        return replace(corpus, items=items, labels=torch.from_numpy(made.labels).to(device).float())

    def _remark(self, made: Made) -> str:
        remarks = []
        if made.one_sided:
            first = self.statements[made.one_sided[0]].text
            remarks.append(f"found only true or only false: {len(made.one_sided):,}, as {first!r:.80}")
        if self._ambiguous:
            remarks.append(f"with several programs: {len(self._ambiguous):,}, as {self._ambiguous[0]!r:.80}")
        return f"of {counted(len(self.statements), 'statement')}, {'; '.join(remarks)}" if remarks else ""

    @cached_property
    def _ambiguous(self) -> list[str]:
        """Lists the texts that have several programs."""
        meanings: dict[str, set[Program]] = {}
        for each in self.statements:
            meanings.setdefault(normalized(each.text), set()).add(each.program)
        return [text for text, programs in meanings.items() if len(programs) > 1]


def _items(scenes: SceneArrays, device: torch.device) -> Items:
    world, fields = scenes.world, torch.from_numpy(scenes.fields).to(device)
    columns = {name: fields[place] for name, place in scenes.layout.columns.items()}
    has_all_boxes = world.boxes[0] == world.boxes[1]
    boxes = None if has_all_boxes else torch.from_numpy(scenes.box_mask.sum(axis=1)).to(device)
    return Items.of_fields(world, columns, fields[STATE] == ITEM, boxes)


def _worker_count(teacher: TeacherConfig) -> int:
    return teacher.workers or usable_cores() - 1
