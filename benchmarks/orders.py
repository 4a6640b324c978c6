"""Does a trained model depend on the order in which it reads the items of a box?

    python benchmarks/orders.py NLVR MODEL [MODEL …] [--draws 8]

Each MODEL (a run or checkpoint) judges dev in its own order, in the order of the file, sorted, and in random orders;
BiATT-Pointer's weights then read without its pointer. Prints accuracies, and the difference between its own order and
random ones with its interval. For a pointer it also prints the mean log-probability of a sampled order, next to that
under a uniform distribution.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from veriscene import worlds
from veriscene.data.batch import Batch, required
from veriscene.data.encoder import ItemOrder
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.judge.checkpoint import Checkpoint
from veriscene.metrics.accuracy import score
from veriscene.metrics.comparison import difference
from veriscene.models import Model, Order
from veriscene.models.base import INFERENCE_BATCH, judge_in_batches
from veriscene.models.biatt_pointer import BiATTPointer, sampled
from veriscene.world.corpus import split_file
from veriscene.world.examples import Example


def verdicts(model: Model, examples: Sequence[Example], corpus: Batch) -> dict[str, bool]:
    found = {}
    for numbers, _, judgement in judge_in_batches(model, corpus):
        for number, logit in zip(numbers.tolist(), judgement.logits.tolist(), strict=True):
            found[examples[number].identifier] = logit > 0
    return found


def log_probabilities(model: BiATTPointer, corpus: Batch) -> tuple[float, float]:
    """The mean over orders that the pointer samples, and what it would be if all orders were equally likely."""
    model.eval()
    torch.manual_seed(0)
    with torch.inference_mode():
        parts = [
            required(model.judge(corpus[first : first + INFERENCE_BATCH], sampled).log_probability)
            for first in range(0, len(corpus), INFERENCE_BATCH)
        ]
    uniform = -torch.lgamma(required(corpus.items).counts.double() + 1).sum(dim=1).mean().item()
    return torch.cat(parts).mean().item(), uniform


def corpora(checkpoint: Checkpoint, examples: Sequence[Example], *, draws: int) -> dict[ItemOrder, list[Batch]]:
    """The examples in each order, and in `draws` random orders."""
    by_order = {
        order: [replace(checkpoint.encoder, order=order)(examples)] for order in (ItemOrder.FILE, ItemOrder.SORTED)
    }
    (file,), generator = by_order[ItemOrder.FILE], torch.Generator().manual_seed(0)
    items = required(file.items)
    keys = (torch.rand(items.features.shape[:3], generator=generator) for _ in range(draws))
    return {**by_order, ItemOrder.RANDOM: [replace(file, items=items.shuffled(key)) for key in keys]}


def report(
    name: str, checkpoint: Checkpoint, examples: Sequence[Example], *, draws: int, say: Callable[[str], None]
) -> None:
    model, kind = checkpoint.model, checkpoint.config.model.name
    if model.order is Order.NONE:
        raise InputError(f"{kind} does not depend on the order of items", where=name)
    reader = model.comprehension if isinstance(model, BiATTPointer) else model
    own = verdicts(model, examples, checkpoint.encode(examples))
    by_order = {
        order: [verdicts(reader, examples, corpus) for corpus in some]
        for order, some in corpora(checkpoint, examples, draws=draws).items()
    }
    say(f"{name}: {kind}")
    say(f"  own       {100 * score(examples, own).accuracy:.1f}")
    for order, all_draws in by_order.items():
        mean = sum(score(examples, one).accuracy for one in all_draws) / len(all_draws)
        say(f"  {order.value:<9} {100 * mean:.1f}")
    gap = difference(examples, [own], by_order[ItemOrder.RANDOM])
    low, high = (100 * end for end in gap.interval)
    say(f"  own minus random {100 * gap.mean:+.1f} ({low:+.1f} to {high:+.1f})")
    if isinstance(model, BiATTPointer):
        mean, uniform = log_probabilities(model, checkpoint.encode(examples))
        say(f"  mean log p of a sampled order {mean:.2f}; uniform would be {uniform:.2f}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("nlvr", type=Path)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--draws", type=int, default=8)
    given = parser.parse_args(arguments)
    if given.draws < 1:
        raise InputError("at least one random order is needed", where=f"--draws {given.draws}")
    examples = worlds.read(split_file(given.nlvr, "dev"))
    for name in given.models:
        report(name, checkpoints.load(name), examples, draws=given.draws, say=print)


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"orders.py: {error}")
