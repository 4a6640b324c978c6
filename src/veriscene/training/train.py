"""The one way to train: build, then for each epoch step, score and save. Exact to resume, in one process or many.

A run is a folder: spec.json (how it was started), best/, last/, log.jsonl and, where no corpus was given, corpus/ or,
with a teacher, dev.json.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from veriscene import files, models, worlds
from veriscene.config import Config
from veriscene.data.batch import required
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.judge.checkpoint import Checkpoint
from veriscene.judge.folders import BEST, METRICS
from veriscene.models.base import Model, judge_in_batches
from veriscene.models.captured import tf32
from veriscene.output import Output, clock, counted
from veriscene.training.distributed import Machine, interruptible
from veriscene.training.log import Event, LogLine, OnEvent, Remark, RunLog, Saved, Scored, Step, Waiting, read_log, show
from veriscene.training.optimization import learning_rate, objective
from veriscene.training.source import CorpusSource, Epoch, Source, TeacherSource
from veriscene.training.spec import CORPUS, DEV, SPEC, Record, Spec, fresh_folder, new_folder_hint
from veriscene.training.state import Position, TrainingState
from veriscene.training.step import CapturedStep, NotFinite, PlainStep, RunningLoss
from veriscene.world import examples
from veriscene.world.corpus import SUPERVISION

if TYPE_CHECKING:
    from veriscene.judge.judge import Judge

LAST = "last"
SAVE_SECONDS = 60.0  # between two saves of the last state
REFRESH_SECONDS = 0.5  # between two reads of the loss, for which the device must be synchronised
EPOCH_POLL_SECONDS = 0.1  # between two looks at an epoch that is being made
VOTE_STEPS = 16  # between two votes of several processes on GPUs, which must wait for the device to agree on stopping
ETA_STEPS = 20  # after which the expected time is announced
LONG_ON_CPU = 3600.0  # seconds after which the announcement recommends a GPU

StopAfter = Callable[[LogLine], bool]


@dataclass(frozen=True)
class Result:
    """Says what became of a run."""

    folder: Path
    position: Position
    total_steps: int
    interrupted: bool = False  # before its end: `train(…, resume=True)` continues it
    asked_to_stop: bool = False  # perhaps in its last step: nothing more should be trained
    was_finished: bool = False  # before this call, which has trained nothing
    remark: str = ""  # what the user should know about the examples

    @property
    def best_accuracy(self) -> float:
        """Returns the best accuracy on dev, that of the weights in `best`."""
        return self.position.best_accuracy

    def judge(self) -> Judge:
        """Loads the model with its best weights, ready to judge."""
        from veriscene.judge import load

        return load(self.folder)


def train(
    spec: Spec,
    folder: Path | None = None,
    *,
    on_event: OnEvent | None = None,
    resume: bool = False,
    stop_after: StopAfter = lambda line: False,
    machine: Machine | None = None,
) -> Result:
    """Trains to the end, out of patience, to the time limit or to Ctrl-C, and leaves `best` and `last` in the folder.

    `on_event` is called in the main process. `stop_after` sees the log line of each dev score, in every process, and
    may end the run there. A run that fails before anything was saved leaves no folder, so that it can be repeated.
    With `resume` an earlier run continues exactly where it stopped; one that is finished stays as it is.
    """
    models.check(spec.config.model, spec.world)  # before the corpus is read
    machine = machine or Machine()
    name = folder or fresh_folder(spec.preset or spec.config.model.name, f"seed{spec.config.training.seed}")
    folder = Path(machine.from_main(str(name)))
    with ExitStack() as stack:
        if resume:
            stack.enter_context(machine.locked(folder))
            record = Record.read(folder)
            if record.spec != spec:
                raise InputError("was started with other settings", where=folder, allowed="name another folder")
        else:
            fill, hint = [SPEC, CORPUS, DEV, *RunLog.FILES], new_folder_hint(folder)
            stack.enter_context(machine.created(folder, fill=fill, hint=hint))
            record = Record.new(spec, machine)
            machine.on_main(lambda: record.write(folder))
        stack.callback(machine.output.finish)
        corpus = spec.corpus
        if corpus is None and not spec.is_taught:
            corpus = folder / CORPUS
            machine.on_main(lambda: _make_corpus(folder / CORPUS, spec, machine.output))
        initial = load_initial(spec)
        source = stack.enter_context(closing(open_source(spec, corpus, initial, machine.output)))
        machine.on_main(lambda: replace(record, supervision=source.supervision).write(folder))
        if corpus is None and not (folder / DEV).exists():
            machine.on_main(lambda: examples.write(folder / DEV, source.dev_examples, spec.world))
        run = Run(spec.config, folder, source, machine, on_event)
        if models.MODELS[spec.config.model.name].is_fitted:
            return _fit_at_once(run, stop_after)
        state = _build(run, initial)
        if resume:
            _restore(run, state)
        if state.position.finished:
            return Result(folder, state.position, run.total_steps, was_finished=True)
        run.describe()
        return _Steps(run, state).train(stop_after)


def open_source(
    spec: Spec, corpus: Path | None, initial: Checkpoint | None = None, output: Output | None = None
) -> CorpusSource | TeacherSource:
    """Opens what examples come from: a teacher, if it has statements to teach, otherwise the corpus, which only a
    teacher can do without."""
    known: dict[str, Any] = {"vocabulary": initial and initial.encoder.vocabulary, "world": spec.world}
    progress = (output or Output()).progress
    source: CorpusSource | TeacherSource
    if spec.is_taught:
        source = TeacherSource.open(spec.config, corpus, spec.programs, progress, **known)
    else:
        source = CorpusSource.open(spec.config, required(corpus), progress, **known)
    if initial is not None:  # a model that was trained before has the stronger of both supervisions
        source.supervision = max(source.supervision, initial.metrics["supervision"], key=SUPERVISION.index)
    return source


def load_initial(spec: Spec) -> Checkpoint | None:
    """Loads the model that a run starts from; raises InputError if such a model cannot start from it."""
    if spec.initial is None:
        return None
    initial, name = checkpoints.load(spec.initial), spec.config.model.name
    if models.MODELS[name].is_fitted:
        what = f"{name} finds its weights at once, whatever it starts from"
        raise InputError(what, allowed="train it without an initial model")
    if initial.metrics.get("supervision") not in SUPERVISION:
        allowed = f'the entry "supervision" must be one of {", ".join(SUPERVISION)}'
        raise InputError("does not say how the model was trained", where=Path(spec.initial, METRICS), allowed=allowed)
    return initial


@dataclass
class Run:
    """Holds what training, scoring and saving have in common."""

    config: Config
    folder: Path
    source: Source
    machine: Machine
    on_event: OnEvent | None
    log: RunLog | None = None

    @property
    def total_steps(self) -> int:
        """Returns the number of steps of a run that is not ended early."""
        return self.config.training.epochs * self.source.steps_per_epoch

    def describe(self) -> None:
        """Says what is trained, on what."""
        source, words = self.source, self.source.encoder.vocabulary
        examples = counted(source.examples_per_epoch, "example")
        text = (
            f"{self.config.model.name} on {examples} (supervision: {source.supervision}),"
            f" vocabulary of {len(words):,} words covering {source.coverage:.1%} of the text,"
            f" device {self.machine.device}, run {self.folder}"
        )
        self.emit(Remark(text))
        if source.introduction:
            self.emit(Remark(source.introduction))

    def emit(self, event: Event) -> None:
        """Tells the user, the log and the caller, in the main process."""
        if self.machine.is_main:
            show(event, self.machine.output)
            if self.log is not None and isinstance(event, Scored):
                self.log.write(event.line)
            if self.on_event is not None:
                self.on_event(event)

    @contextmanager
    def logging(self, *, up_to_step: int) -> Iterator[None]:
        """Writes scores to the log, which is cut off after `up_to_step`."""
        if not self.machine.is_main:
            yield
            return
        with closing(RunLog(self.folder, up_to_step=up_to_step)) as self.log:
            yield

    def accuracy(self, model: Model) -> float:
        """Scores a model on dev. Every example is judged exactly once, by one process or another, so the score does not
        depend on their number."""
        right: list[bool] = []
        rank, processes = self.machine.rank, self.machine.processes
        for _, batch, judgement in judge_in_batches(model, self.source.dev, rank=rank, processes=processes):
            right.extend(((judgement.logits > 0) == (required(batch.labels) > 0.5)).tolist())
        everywhere = self.machine.gather(right)
        return sum(everywhere) / len(everywhere)

    def save_best(self, checkpoint: Checkpoint, line: LogLine) -> None:
        """Writes `best`, with the log line as its metrics."""
        metrics = {**vars(line), "supervision": self.source.supervision}
        self.machine.on_main(lambda: checkpoints.save(self.folder / BEST, replace(checkpoint, metrics=metrics)))


def _make_corpus(folder: Path, spec: Spec, output: Output) -> None:
    """Makes the synthetic corpus of a run, completely or not at all, unless an earlier call has made it."""
    make, data = worlds.ability(spec.world, "make_corpus"), spec.config.data
    if make is None:
        what = f"no corpus can be made for the world {spec.world.name}"
        raise InputError(what, allowed="name one with --data, or set teacher.statements, so that a teacher needs none")
    if not folder.exists():
        with files.replacing(folder) as partial:
            make(partial, data.statements, seed=data.corpus_seed, level=data.level, progress=output.progress)


def _fit_at_once(run: Run, stop_after: StopAfter) -> Result:
    """Trains a model that finds its optimum without gradient steps. Such a run is completed in one piece or not at
    all."""
    if files.present(run.folder / BEST) is not None:
        return Result(run.folder, Position(finished=True), 1, was_finished=True)
    run.describe()
    started, source, corpus = time.monotonic(), run.source, run.source.train
    model = models.build(run.config.model, vocabulary=source.encoder.vocabulary, world=source.encoder.world)
    run.emit(Remark(f"extracting the features of {counted(len(corpus), 'example')}"))
    model.prepare(corpus)
    run.emit(Remark("fitting their weights, which takes a little longer"))
    model.fit(corpus)
    score, seconds, loss = run.accuracy(model), time.monotonic() - started, 0.0
    for _, batch, judgement in judge_in_batches(model, corpus):
        loss += float(objective(judgement, required(batch.labels)).comprehension.sum())
    line = LogLine(1, 1.0, loss / len(corpus), score, 0.0, len(corpus) / seconds, seconds)
    run.save_best(Checkpoint(model, run.config, source.encoder, {}), line)
    run.emit(Saved(1, run.folder / BEST))
    with run.logging(up_to_step=0):
        run.emit(Scored(line, is_best=True, total_steps=1, seconds_left=0.0))
    stop_after(line)
    position = Position(step=1, best_accuracy=score, best_step=1, seconds=seconds, finished=True)
    return Result(run.folder, position, 1, remark=source.remark)


# ---------------------------------------------------------------- building and resuming


def _build(run: Run, initial: Checkpoint | None) -> TrainingState:
    """Builds the model with its optimizer, on the device. All is drawn from `training.seed`, in this order."""
    settings, source, machine = run.config.training, run.source, run.machine
    if settings.threads:
        torch.set_num_threads(settings.threads)
    torch.manual_seed(settings.seed)
    model = models.build(run.config.model, vocabulary=source.encoder.vocabulary, world=source.encoder.world)
    if initial is None:
        model.prepare(source.train)
    else:
        try:
            model.load_state_dict(initial.model.state_dict())
        except RuntimeError:
            what = f"the weights of the initial model, a {initial.config.model.name}, do not fit"
            raise InputError(what, allowed="start from a model of the same kind and sizes") from None
    source.to(machine.device)
    model.to(machine.device)
    machine.broadcast(model.state_dict().values())
    with (
        machine.accelerator.main_process_first()
    ):  # the main process stores what frozen parts make of the corpus; the others read it
        source.transform(partial(model.extract, store=True, output=machine.output))
    # Processes must draw different dropout masks and orders.
    torch.manual_seed(settings.seed + 7919 * machine.rank)
    return TrainingState(Checkpoint(model, run.config, source.encoder, {}), settings, machine, source.fingerprint)


def _restore(run: Run, state: TrainingState) -> None:
    """Continues from the state that this run saved last; without one, from the beginning.

    A finished run whose state was deleted, to save space, stays finished: its best weights must not be replaced.
    """
    last = files.present(run.folder / LAST)
    if last is not None:
        state.restore(last, total_steps=run.total_steps)
    elif files.present(run.folder / BEST) is not None and _is_complete(read_log(run.folder), run):
        state.position.finished = True
    else:
        run.emit(Remark(f"{run.folder}: nothing was saved yet, so this run starts from the beginning"))


def _is_complete(log: Sequence[LogLine], run: Run) -> bool:
    """Returns whether the log says that the run reached its last step, its time limit or the end of its patience."""
    if not log:
        return False
    scores, limit = [line.dev_accuracy for line in log], run.config.training.minutes * 60
    scores_since_best = len(scores) - 1 - scores.index(max(scores))
    out_of_patience = scores_since_best >= run.config.training.patience
    return log[-1].step == run.total_steps or out_of_patience or 0 < limit <= log[-1].seconds


# ---------------------------------------------------------------- the loop


class _Steps:
    """Trains by gradient steps, from a state to the end of the run."""

    def __init__(self, run: Run, state: TrainingState) -> None:
        self.run, self.state, self.machine, self.source = run, state, run.machine, run.source
        self.position, self.settings, self.total_steps = state.position, run.config.training, run.total_steps
        kind = CapturedStep if state.captured else PlainStep
        model, order = state.checkpoint.model, run.source.encoder.order
        self.step = kind(model, state.optimizer, self.settings, order, processes=run.machine.processes)
        self.loss = RunningLoss(self.position.loss_sum, run.machine.device)
        self.announce_at = self.position.step + ETA_STEPS
        self.clock = time.monotonic()  # up to which time has been accounted for

    def train(self, stop_after: StopAfter) -> Result:
        with self.run.logging(up_to_step=self.position.step), interruptible() as asked_to_stop, tf32():
            interrupted = self._loop(asked_to_stop.is_set, stop_after)
            (was_asked,) = self.machine.any(interrupted or asked_to_stop.is_set())  # perhaps while it was scored
        remark = self.source.remark
        if remark:
            self.run.emit(Remark(remark))
        stopped_early = interrupted and not self.position.finished
        return Result(self.run.folder, self.position, self.total_steps, stopped_early, was_asked, remark=remark)

    def _loop(self, asked_to_stop: Callable[[], bool], stop_after: StopAfter) -> bool:
        """Returns whether it was interrupted."""
        position, limit, interrupted = self.position, self.settings.minutes * 60, False
        saved = refreshed = self.clock = time.monotonic()
        for epoch, whole in self._remaining_steps(asked_to_stop):
            self._learn(epoch, whole)
            if self.clock - refreshed > REFRESH_SECONDS or position.step == self.announce_at or self.loss.is_full:
                self._refresh()
                refreshed = self.clock
            interrupted, out_of_time, save_due = self._vote(
                asked_to_stop(), 0 < limit <= position.seconds, self.clock - saved > SAVE_SECONDS
            )
            if self._is_score_due() or (out_of_time and not interrupted):
                self._refresh()
                # A run that is killed before its first regular save must not start over.
                save_due |= position.best_step == 0
                out_of_time |= stop_after(self._score())
            out_of_patience = position.scores_since_best >= self.settings.patience
            if position.step == self.total_steps or out_of_patience or (out_of_time and not interrupted):
                position.finished = True
                break
            if interrupted:
                break
            if save_due:
                self._save()
                saved = self.clock
        else:
            interrupted = True  # while an epoch was being made
        self._save()
        return interrupted

    def _remaining_steps(self, asked_to_stop: Callable[[], bool]) -> Iterator[tuple[Epoch, Tensor]]:
        """Yields for each step the epoch, and the indices of the examples of all processes.

        Ends before the last step if it is asked to stop while an epoch is being made.
        """
        first_epoch, first_step = divmod(self.position.step, self.source.steps_per_epoch)
        for number in range(first_epoch, self.settings.epochs):
            while reason := self.source.pending(number):
                self.run.emit(Waiting(self.position.step, self.total_steps, reason))
                # Several processes stop only between steps, where they can agree on it.
                if asked_to_stop() and self.machine.processes == 1:
                    return
                time.sleep(EPOCH_POLL_SECONDS)
            self.clock = time.monotonic()  # waiting is excluded from throughput and the time limit
            epoch = self.source.epoch(number)
            for whole in epoch.steps[first_step:]:
                yield epoch, whole
            first_step = 0

    def _learn(self, epoch: Epoch, whole: Tensor) -> None:
        """Learns from this process's examples of a batch, each with its share in the batch's mean."""
        mine = whole[self.machine.rank :: self.machine.processes]
        share = torch.full((len(mine),), 1 / len(whole))
        if not len(mine):  # fewer examples than processes: one without a share keeps all in step
            mine, share = whole[:1], torch.zeros(1)
        step = self.position.step
        rate = learning_rate(self.settings, step, self.total_steps)
        self.loss.add(self.step(epoch.corpus, mine, share, learning_rate=rate), epoch, whole)
        if self.state.ema:
            self.state.ema.update(step)
        self.position.step += 1
        self.position.loss_count += 1
        self.position.training_seconds += self._spend()

    def _refresh(self) -> None:
        """Reads the loss and reports it."""
        position = self.position
        position.loss_sum = self._read_loss()
        position.training_seconds += self._spend()
        mean, left = position.loss_sum / max(1, position.loss_count), self._seconds_left()
        self.run.emit(Step(position.step, self.total_steps, mean, self._examples_per_second(), left))
        if position.step == self.announce_at:
            hint = "; this is meant for a GPU" if left > LONG_ON_CPU and not self.machine.has_gpu else ""
            self.run.emit(Remark(f"expected time: about {clock(left)}{hint}"))

    def _score(self) -> LogLine:
        model, ema, position = self.state.checkpoint.model, self.state.ema, self.position
        # Running statistics differ between processes.
        self.machine.broadcast([*model.state_dict().values(), *(ema.weights if ema else [])])
        with ema.applied() if ema else nullcontext():
            score = self.run.accuracy(model)
            line = LogLine(
                step=position.step,
                epoch=position.step / self.source.steps_per_epoch,
                loss=self.machine.sum(position.loss_sum / max(1, position.loss_count)),
                dev_accuracy=score,
                learning_rate=learning_rate(self.settings, position.step - 1, self.total_steps),
                examples_per_second=self._examples_per_second(),
                seconds=position.seconds,
            )
            is_best = score > position.best_accuracy
            if is_best:
                self.run.save_best(self.state.checkpoint, line)
                position.best_accuracy, position.best_step, position.scores_since_best = score, position.step, 0
            else:
                position.scores_since_best += 1
        self.loss.reset()
        position.loss_sum, position.loss_count, position.training_seconds = 0.0, 0, 0.0
        self._spend()
        self.run.emit(Scored(line, is_best, self.total_steps, self._seconds_left()))
        if is_best:
            self.run.emit(Saved(position.step, self.run.folder / BEST))
        return line

    def _save(self) -> None:
        self.position.loss_sum = self._read_loss()
        self.state.save(self.run.folder / LAST)
        self.run.emit(Saved(self.position.step, self.run.folder / LAST))
        self.clock = time.monotonic()  # saving is excluded from throughput

    def _read_loss(self) -> float:
        """Waits for the device. Raises InputError if the loss is not finite: such a state is not saved either."""
        try:
            return self.loss.read()
        except NotFinite as error:
            rate, clip = self.settings.learning_rate, self.settings.clip
            examples = f", with the examples {error.names}" if error.names else ""
            raise InputError(
                f"the loss or its gradient is not finite at step {self.position.step - error.steps}{examples}",
                where=self.run.folder,
                allowed=f"lower training.learning_rate (it is {rate}) or training.clip (it is {clip})",
            ) from None

    # ------------------------------------------------------------ what is due, and how long it takes

    def _vote(self, *flags: bool) -> tuple[bool, ...]:
        is_due = not self.state.captured or self._is_score_due() or self.position.step % VOTE_STEPS == 0
        return self.machine.any(*flags) if is_due or self.machine.processes == 1 else (False,) * len(flags)

    def _is_score_due(self) -> bool:
        step, every = self.position.step, self.settings.evaluate_every or self.source.steps_per_epoch
        return step % every == 0 or step == self.total_steps

    def _spend(self) -> float:
        """Adds the seconds since the last call to the run's, and returns them."""
        before, self.clock = self.clock, time.monotonic()
        self.position.seconds += self.clock - before
        return self.clock - before

    def _examples_per_second(self) -> float:
        steps, seconds = self.position.loss_count, self.position.training_seconds
        return steps * self.settings.batch / seconds if seconds else 0.0

    def _seconds_left(self) -> float:
        position, limit = self.position, self.settings.minutes * 60
        by_steps = position.seconds / max(1, position.step) * (self.total_steps - position.step)
        return min(by_steps, max(0.0, limit - position.seconds)) if limit else by_steps
