"""The protocol: one spec, several seeds, each at its best on dev; reported as mean, spread and best.

A folder of seeds holds spec.json, a run for each seed with its verdicts, and summary.json. Several commands may train
its seeds, also on several machines, if each takes a shard: who trains what follows from numbers, not from locks.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from veriscene import files, models, worlds
from veriscene.errors import InputError
from veriscene.judge import load
from veriscene.judge.evaluate import probabilities
from veriscene.judge.folders import BEST, SUMMARY
from veriscene.metrics import accuracy as metrics
from veriscene.metrics.accuracy import Score, Summary, train_statements, unseen_accuracy
from veriscene.output import clock
from veriscene.training.distributed import Machine
from veriscene.training.log import OnEvent, read_log
from veriscene.training.spec import SPEC, Record, Spec, corpus_of, new_folder_hint
from veriscene.training.train import train
from veriscene.world.corpus import split_file
from veriscene.world.examples import Example, read_predictions, write_predictions

Shard = tuple[int, int]  # its number i, from 0, and how many there are, n: it has every n-th seed, from the i-th on

MAX_SEEDS = 1_000  # more is a typing error


# ---------------------------------------------------------------- training


def start(spec: Spec, folder: Path, count: int, *, machine: Machine, on_event: OnEvent | None = None) -> Summary | None:
    """Trains `count` seeds in a new folder, starting with the spec's own; None if it was interrupted.

    A failure before anything was saved leaves no folder.
    """
    seeds = _first_seeds(spec, count)
    with machine.created(folder, fill=[SPEC], hint=new_folder_hint(folder)):
        record = Record.new(spec, machine, seeds=seeds)
        machine.on_main(lambda: record.write(folder))
        return _train(folder, record, machine, on_event)


def resume(
    folder: Path, *, machine: Machine, count: int = 0, wait: bool = False, on_event: OnEvent | None = None
) -> Summary | None:
    """Trains the seeds that remain, and more until there are `count`; None if it was interrupted. With `wait` it begins
    when other commands have left the folder, and does only what they have not done."""
    with machine.locked(folder, wait=wait):
        record = read(folder)
        record.check_unchanged(folder)
        if (more := _with_seeds(record, count)) != record:
            machine.on_main(lambda: more.write(folder))
        return _train(folder, more, machine, on_event)


def prepare(spec: Spec, folder: Path, count: int, *, machine: Machine) -> Record:
    """Returns the record of a folder of `count` seeds, which other commands may be training as well: the first of them
    makes it, or adds the seeds that it lacks."""

    def write_record() -> None:
        record = Record.new(spec, machine, seeds=_first_seeds(spec, count))
        if is_folder_of_seeds(folder) and len(read(folder).seeds) >= count:
            check_same(folder, spec)
            return
        folder.mkdir(parents=True, exist_ok=True)
        with files.locked(folder, on_wait=machine.waits_for(folder)):
            if is_folder_of_seeds(folder):
                check_same(folder, spec)
                _with_seeds(read(folder), count).write(folder)
            else:
                files.check_empty(folder, hint=new_folder_hint(folder))
                record.write(folder)

    machine.on_main(write_record)
    return read(folder)


def train_shard(spec: Spec, folder: Path, count: int, shard: Shard, *, machine: Machine) -> bool:
    """Trains those of `count` seeds that are the shard's, unless that was done before; False if it was interrupted."""
    record = prepare(spec, folder, count, machine=machine)
    try:
        return all(train_seed(folder, seed, record, machine) for seed in record.seeds[shard[0] :: shard[1]])
    except KeyboardInterrupt:  # while no seed is trained, which would save first
        return False


def _first_seeds(spec: Spec, count: int) -> range:
    check_count(count)
    first = spec.config.training.seed
    seeds = range(first, first + count)
    models.read_config(spec.for_seed(seeds[-1]).config.to_json(), where=f"--seeds {count}")  # raises InputError
    return seeds


def _with_seeds(record: Record, count: int) -> Record:
    """Returns the record with more seeds, if it has fewer than `count`."""
    following = max(record.seeds) + 1
    return replace(record, seeds=(*record.seeds, *range(following, following + max(0, count - len(record.seeds)))))


def _train(folder: Path, record: Record, machine: Machine, on_event: OnEvent | None) -> Summary | None:
    """Trains the seeds that remain, scores each on dev, and writes the summary."""
    try:
        for seed in record.seeds:
            if not train_seed(folder, seed, record, machine, on_event):
                return None
        corpus = record.spec.corpus  # without one, each seed has its own dev, and no train split
        seen = None if corpus is None else train_statements(corpus, record.spec.world)
        summary = judge(folder, "dev", machine=machine, seen=seen)
    except KeyboardInterrupt:  # while no seed is trained, which would save first
        return None
    if machine.is_main:
        tree = {"best": f"seed{summary.best.seed}", "supervision": supervision(folder), "dev": summary.to_json()}
        files.write_text(folder / SUMMARY, json.dumps(tree, indent=1) + "\n", follow=False)
    return summary


def train_seed(folder: Path, seed: int, record: Record, machine: Machine, on_event: OnEvent | None = None) -> bool:
    """Trains one seed to its end and scores it, unless that was done before; False if it was interrupted."""
    own = folder / f"seed{seed}"
    # Rank 0 decides: another rank may look later, and find what rank 0 has begun meanwhile.
    is_begun, is_done = machine.any(machine.is_main and (own / SPEC).exists(), machine.is_main and is_trained(own))
    if is_done:
        return True
    record.check_unchanged(folder)  # files may change while another seed is trained
    if machine.is_main:
        for split in ("dev", "test"):  # verdicts of earlier weights would seem to belong to the new ones
            (own / f"{split}.csv").unlink(missing_ok=True)
    machine.output.say(f"{record.spec.preset}, seed {seed} of {', '.join(map(str, record.seeds))}: run {own}")
    spec = Record.read(own).spec if is_begun else record.spec.for_seed(seed)
    result = train(spec, own, resume=is_begun, machine=machine, on_event=on_event)
    if result.interrupted:
        return False
    _judge(own, "dev", machine, _examples(own, "dev"))
    return not result.asked_to_stop


# ---------------------------------------------------------------- what is in a folder


def check_count(count: int) -> None:
    """Raises InputError for a number of seeds that is a typing error."""
    if not 1 <= count <= MAX_SEEDS:
        raise InputError(f"--seeds {count}", allowed=f"give a number from 1 to {MAX_SEEDS:,}")


def check_same(folder: Path, spec: Spec) -> None:
    """Raises InputError if the folder was started with another spec, or if its corpus or programs have changed."""
    record, another = read(folder), "name another folder with --out"
    for name, what in (("config", "settings"), ("corpus", "corpus"), ("programs", "programs"), ("world", "world")):
        if getattr(record.spec, name) != getattr(spec, name):
            raise InputError(f"was started with another {what}", where=folder, allowed=another)
    record.check_unchanged(folder)


def is_folder_of_seeds(folder: Path) -> bool:
    """Returns whether several seeds are trained in the folder; raises InputError if its record is damaged."""
    return (folder / SPEC).is_file() and bool(Record.read(folder).seeds)


def read(folder: Path) -> Record:
    """Reads the record of a folder of seeds; raises InputError for the folder of a single run."""
    record = Record.read(folder)
    if not record.seeds:
        raise InputError("is a run, and not a folder of seeds", where=folder)
    return record


def left(folder: Path, count: int) -> int:
    """Returns how many seeds remain to be trained until the folder has `count`, or as many as it was created for."""
    if not is_folder_of_seeds(folder):
        return count
    seeds = read(folder).seeds
    return max(count, len(seeds)) - sum(is_trained(folder / f"seed{seed}") for seed in seeds)


def is_summarised(folder: Path, count: int) -> bool:
    """Returns whether at least `count` seeds, and all that the folder was created for, are trained and summarised."""
    try:
        summarised = len(json.loads(files.read_text(folder / SUMMARY))["dev"]["scores"])
    except (InputError, ValueError, KeyError, TypeError, RecursionError):
        return False  # missing or damaged; it is written again, without training a seed again
    return summarised >= max(count, len(read(folder).seeds))


def supervision(folder: Path) -> str:
    """Returns the supervision of a folder whose first seed is trained, as its source reported it."""
    return Record.read(folder / f"seed{read(folder).seeds[0]}").supervision


# ---------------------------------------------------------------- scoring


def judge(
    folder: Path,
    split: str,
    *,
    machine: Machine,
    examples: Sequence[Example] | None = None,
    seen: frozenset[str] | None = None,
) -> Summary:
    """Returns every seed's scores on a split. Verdicts are kept next to the weights and not computed again.

    `examples` are those of the split, if the caller has read them; `seen` are its `train_statements`.
    """
    scores = []
    for seed in read(folder).seeds:
        own = folder / f"seed{seed}"
        of_seed = examples or _examples(own, split)
        found = _judge(own, split, machine, of_seed)
        scored = metrics.score(of_seed, found)
        scores.append(Score(seed, scored.accuracy, scored.consistency, unseen_accuracy(of_seed, found, seen)))
    return Summary(tuple(scores))


def verdicts(folder: Path, split: str) -> list[dict[str, bool]]:
    """Reads what `judge` kept, seed by seed."""
    return [read_predictions(folder / f"seed{seed}" / f"{split}.csv") for seed in read(folder).seeds]


def predictions(folder: Path, splits: Sequence[str]) -> bytes:
    """Returns what `judge` kept of all seeds as a compressed CSV file: split, identifier, and 1 (true) or 0 for each
    seed. Later questions about a row then need no training."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["split", "identifier", *(f"seed{seed}" for seed in read(folder).seeds)])
    for split in splits:
        by_seed = verdicts(folder, split)
        table.writerows([split, name, *(int(each[name]) for each in by_seed)] for name in by_seed[0])
    return gzip.compress(text.getvalue().encode(), mtime=0)  # the same bytes for the same verdicts


def read_kept(content: bytes) -> dict[str, list[dict[str, bool]]]:
    """Returns the verdicts of `predictions` by split, seed by seed."""
    _, *lines = csv.reader(io.StringIO(gzip.decompress(content).decode()))
    found: dict[str, list[dict[str, bool]]] = {}
    for split, name, *of_seeds in lines:
        for own, verdict in zip(found.setdefault(split, [{} for _ in of_seeds]), of_seeds, strict=True):
            own[name] = verdict == "1"
    return found


def _examples(own: Path, split: str) -> list[Example]:
    return worlds.read(split_file(corpus_of(own), split), Record.read(own).spec.world)


def _judge(own: Path, split: str, machine: Machine, examples: Sequence[Example]) -> Mapping[str, bool]:
    kept = own / f"{split}.csv"
    if not kept.exists():
        judged = probabilities(load(own, device=str(machine.device)), examples, machine.accelerator)
        if machine.is_main:
            kept.unlink(missing_ok=True)  # a link that leads nowhere
            write_predictions(kept, {identifier: p > 0.5 for identifier, p in judged.items()})
        machine.wait()
    return read_predictions(kept)


def is_trained(own: Path) -> bool:
    """Returns whether a seed has all that is needed later: its weights and, written last, its verdicts on dev."""
    return (own / "dev.csv").exists() and files.present(own / BEST) is not None


def time_of_a_seed(folder: Path) -> str:
    """Says how long the first finished seed of a folder took to train, and where; empty if none is finished."""
    for own in sorted(folder.glob("seed*")):
        if is_trained(own) and (log := read_log(own)):
            return f"{own.name} took {clock(log[-1].seconds)} on {Record.read(own).machine}"
    return ""
