"""Does a trained model care in which order it reads the items of a box?

    python benchmarks/orders.py NLVR MODEL [MODEL …] [--draws 8]

Each MODEL (a run, a checkpoint) judges dev in its own order of inference, in the order of the file, sorted, and in
random orders; of BiATT-Pointer the same weights then read without their pointer. The difference between its own
order and random ones comes with its interval, over statements and draws. Of a pointer it also says how sure it is: the
mean log-probability of an order that it samples, beside that of a pointer to which all orders are alike.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import nn

from veriscene.errors import InputError
from veriscene.evaluation.comparison import difference
from veriscene.evaluation.metrics import score
from veriscene.models import reads_in_order
from veriscene.models.biatt_pointer import BiATTPointer, sampled
from veriscene.models.inference import judge_in_batches
from veriscene.scenes import nlvr
from veriscene.scenes.nlvr import Example
from veriscene.tensors.batch import Batch, ItemOrder, encode
from veriscene.training import checkpoint as checkpoints
from veriscene.training.checkpoint import Checkpoint

SIZE = 256


def verdicts(model: nn.Module, examples: Sequence[Example], corpus: Batch) -> dict[str, bool]:
    found = {}
    for numbers, _, judgement in judge_in_batches(model, corpus, size=SIZE):
        for number, logit in zip(numbers.tolist(), judgement.logits.tolist(), strict=True):
            found[examples[number].identifier] = logit > 0
    return found


def log_probabilities(model: BiATTPointer, corpus: Batch) -> tuple[float, float]:
    """Of the orders that the pointer samples, the mean; and what it would be if every order were as likely."""
    model.eval()
    torch.manual_seed(0)
    with torch.inference_mode():
        told = [
            model.judge(corpus[first : first + SIZE], sampled).log_probability for first in range(0, len(corpus), SIZE)
        ]
    all_alike = -torch.lgamma(corpus.counts.double() + 1).sum(dim=1).mean().item()
    return torch.cat([some for some in told if some is not None]).mean().item(), all_alike


def tell(
    name: str, checkpoint: Checkpoint, examples: Sequence[Example], *, draws: int, say: Callable[[str], None]
) -> None:
    model, file = checkpoint.model, encode(examples, checkpoint.vocabulary)
    if not reads_in_order(model):
        raise InputError(f"{name}: {checkpoint.config.model.name} reads items in no order")
    reader = model.comprehension if isinstance(model, BiATTPointer) else model
    generator = torch.Generator().manual_seed(0)
    own = verdicts(model, examples, checkpoint.encode(examples))
    by_order = {
        order: [verdicts(reader, examples, file.in_order(order))] for order in (ItemOrder.FILE, ItemOrder.SORTED)
    }
    by_order[ItemOrder.RANDOM] = [
        verdicts(reader, examples, file.in_order(ItemOrder.RANDOM, generator)) for _ in range(draws)
    ]
    say(f"{name}: {checkpoint.config.model.name}")
    say(f"  its own   {100 * score(examples, own).accuracy:.1f}")
    for order, all_draws in by_order.items():
        mean = sum(score(examples, drawn).accuracy for drawn in all_draws) / len(all_draws)
        say(f"  {order.value:<9} {100 * mean:.1f}")
    gap = difference(examples, [own], by_order[ItemOrder.RANDOM])
    low, high = (100 * end for end in gap.interval)
    say(f"  its own minus random {100 * gap.mean:+.1f} ({low:+.1f} to {high:+.1f})")
    if isinstance(model, BiATTPointer):
        sure, all_alike = log_probabilities(model, checkpoint.encode(examples))
        say(f"  mean log p of a sampled order {sure:.2f}; all orders alike would be {all_alike:.2f}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("nlvr", type=Path)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--draws", type=int, default=8)
    given = parser.parse_args(arguments)
    if given.draws < 1:
        raise InputError(f"--draws {given.draws}: at least one random order is needed")
    examples = nlvr.read(nlvr.split_file(given.nlvr, "dev"))
    for name in given.models:
        tell(name, checkpoints.load(name), examples, draws=given.draws, say=print)


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"orders.py: {error}")
