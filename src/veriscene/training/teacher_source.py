"""A teacher as a source of training examples."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from math import ceil
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from veriscene import models, worlds
from veriscene.config import Config, TeacherConfig
from veriscene.data.batch import Batch
from veriscene.data.encoder import Input
from veriscene.data.items import Items, in_reading_order
from veriscene.data.spelling import drop_words, mistype_words
from veriscene.data.teacher.maker import Labelled, Made, Maker, label
from veriscene.data.teacher.statements import Taught, draw_statements, plain, read_statements
from veriscene.data.teacher.store import Store
from veriscene.data.teacher.workers import Workers, usable_cores
from veriscene.data.vocabulary import Vocabulary
from veriscene.english.reading import reading_of
from veriscene.errors import InputError
from veriscene.language.bulk.arrays import ITEM, STATE, Array, SceneArrays
from veriscene.language.bulk.random_scenes import by_kind
from veriscene.language.program import Program
from veriscene.output import Progress, silent
from veriscene.training.source import Epoch, Source, batches, labelled, vocabulary_of
from veriscene.world.corpus import split_file
from veriscene.world.examples import Example
from veriscene.world.scene import Scene
from veriscene.world.schema import World

SAMPLE_BLOCKS = 4  # on which models are prepared
SHOWN = 5  # statements in the introduction
NAMED = 3  # statements of a batch in an error
# Of dev where there is no corpus. No other seed is as large, so that neither statements nor scenes are those of train.
DEV_STATEMENTS, DEV_SCENES, DEV_SEED = 500, 4, 2**40


@dataclass(frozen=True)
class Prepared:
    """An epoch whose examples are not on the device yet."""

    made: Made
    steps: list[Tensor]
    generator: Tensor  # the state of the one that draws the rest


class TeacherSource(Source):
    """Makes new labelled scenes for each statement in each epoch; while one trains, processes make the next."""

    def __init__(
        self,
        config: Config,
        world: World,
        *,
        statements: Sequence[Taught],
        train: Sequence[Example],
        dev: Sequence[Example],
        supervision: str,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        """`train`: whose scenes are used, if there are any, and its labels if `teacher.labels` is not 0. `vocabulary`:
        None for that of the statements."""
        if Input.PIXELS in models.MODELS[config.model.name].inputs:
            what = f"a teacher makes scenes, not pictures, and {config.model.name} reads pixels"
            raise InputError(what, allowed="choose a model of items, as biatt")
        if config.data.counting == "examples":
            what = "data.counting=examples has no effect with a teacher, which makes any number of examples"
            raise InputError(what, allowed="data.counting=statements")
        self.settings, self.data, self.teacher = config.training, config.data, config.teacher
        self.supervision, self.statements = supervision, statements
        self.identifiers = [example.identifier for example in train]
        labelled_train = labelled(train, "train") if self.teacher.labels else []
        texts = [*(each.text for each in statements), *(example.statement for example in labelled_train)]
        vocabulary = vocabulary or vocabulary_of(texts, config.data)
        self.coverage = vocabulary.coverage(texts)
        self.encoder = models.encoder(config, vocabulary, world)
        self.maker = self._make_maker(train, labelled_train)
        # Everything but scenes depends on the statement alone, so it is encoded once.
        by_statement = replace(self.encoder, inputs=self.encoder.inputs - {Input.ITEMS})
        self.table = replace(by_statement([Example("0-0", text, Scene(())) for text in texts]), labels=None)
        self.lengths = self.table.statement.lengths  # stays on the CPU, where batches are drawn
        self.dev_examples, self.dev = dev, self.encoder(labelled(dev, "dev"))
        self.workers = Workers(self.maker, _worker_count(self.teacher))
        self.store = Store(world, self._inputs(), statements=len(texts))
        self._next: tuple[int, Future[Prepared]] | None = None
        if models.MODELS[config.model.name].is_fitted:
            self.train = self._encode(self._wait_for(0).made, torch.device("cpu"), torch.Generator().manual_seed(0))
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
        return cls(
            config, world, statements=statements, train=train, dev=dev, supervision=supervision, vocabulary=vocabulary
        )

    @property
    def introduction(self) -> str:
        few = self.statements[:: max(1, len(self.statements) // SHOWN)][:SHOWN]
        lines = [f'  "{each.text}" means: {reading_of(each.program)}' for each in few]
        return "\n".join(["it is taught, for example:", *lines])

    def _make_maker(self, train: Sequence[Example], labelled_train: Sequence[Example]) -> Maker:
        world = self.encoder.world
        scenes = SceneArrays.of(world, [example.scene for example in train])
        pools, own = by_kind(scenes), None
        if labelled_train:
            taught = sum(each.scenes for each in self.statements)
            own = Labelled(
                statements=(len(self.statements) + np.arange(len(train))).astype(np.int32),
                labels=np.array([bool(example.label) for example in labelled_train]),
                scenes=scenes,
                count=round(taught * self.teacher.labels / (1 - self.teacher.labels)),
            )
        return Maker(
            world=world,
            statements=self.statements,
            pools=pools,
            labelled=own,
            seed=self.teacher.seed,
            near_misses=self.teacher.near_misses,
            generated=self.teacher.generated,
        )

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
        if self.maker.labelled:
            yield self.maker.labelled.labels.tobytes()
            yield self.maker.labelled.scenes.fields.tobytes()

    @property
    def examples_per_epoch(self) -> int:
        return self.maker.examples

    @property
    def steps_per_epoch(self) -> int:
        return ceil(self.examples_per_epoch / self.settings.batch)

    def epoch(self, number: int) -> Epoch:
        prepared, generator = self._wait_for(number), torch.Generator()
        generator.set_state(prepared.generator)
        if number + 1 < self.settings.epochs:
            self._future(number + 1)
        corpus = self._encode(prepared.made, self.train.device, generator)
        corpus = mistype_words(corpus, self.data.typing_noise, self.encoder.vocabulary, generator)
        corpus = drop_words(corpus, self.data.word_dropout, generator)
        return Epoch(corpus, prepared.steps, lambda numbers: self._names(prepared.made.statements[numbers.numpy()]))

    def _names(self, statements: Array) -> list[str]:
        """Returns a few of the statements, and the identifiers of the corpus's own examples."""
        drawn, taught = list(dict.fromkeys(statements.tolist())), len(self.statements)
        texts = [repr(self.statements[number].text) for number in drawn if number < taught]
        own = [self.identifiers[number - taught] for number in drawn if number >= taught]
        more = [f"{len(texts) - NAMED} more statements"] if len(texts) > NAMED else []
        return [*texts[:NAMED], *more, *own]

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
                generator = torch.Generator().manual_seed(self.settings.seed * 1_000_003 + number)
                size, window = self.settings.batch, self.settings.window
                steps = batches(self._sizes(made), size=size, window=window, generator=generator)
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
        """`generator`: of item orders, where they are random."""
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
        return f"of {len(self.statements):,} statements, {'; '.join(remarks)}" if remarks else ""

    @cached_property
    def _ambiguous(self) -> list[str]:
        """Lists the texts that have several programs."""
        meanings: dict[str, set[Program]] = {}
        for each in self.statements:
            meanings.setdefault(plain(each.text), set()).add(each.program)
        return [text for text, programs in meanings.items() if len(programs) > 1]


def _items(scenes: SceneArrays, device: torch.device) -> Items:
    world, fields = scenes.world, torch.from_numpy(scenes.fields).to(device)
    columns = {name: fields[place] for name, place in scenes.layout.columns.items()}
    has_all_boxes = world.boxes[0] == world.boxes[1]
    boxes = None if has_all_boxes else torch.from_numpy(scenes.box_mask.sum(axis=1)).to(device)
    return Items.of_fields(world, columns, fields[STATE] == ITEM, boxes)


def _worker_count(teacher: TeacherConfig) -> int:
    return teacher.workers or usable_cores() - 1
