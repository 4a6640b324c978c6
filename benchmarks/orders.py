"""Does a trained model depend on the order in which it reads the items of a box, and on what does that order depend?

    python benchmarks/orders.py NLVR MODEL [MODEL …] [--draws 8] [--json]

Each MODEL (a run or checkpoint) judges dev in its own order, in the order of the file, sorted, and in random orders;
BiATT-Pointer's weights then read without its pointer. Of a pointer it also says, in percent:

- the accuracy in its own orders reversed, and in those that it has for another example's statement;
- `changes with …`: the share of boxes with several items that it reads in another order if the statement is another
  example's, if the encoder reads the items in reverse, or if the items of a box pass their attributes on to the next;
- `agrees with …`: the share of pairs of items of a box that it reads in the order of the encoder, of the sorted items
  (left to right, from the floor up), or in which the statement names the values in which they differ. 50 is chance.

The mean log-probability of a sampled order stands next to that under a uniform distribution.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import torch
from torch import Tensor

from veriscene import worlds
from veriscene.data.batch import Batch, required
from veriscene.data.encoder import ItemOrder
from veriscene.data.vocabulary import tokenize
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.judge.checkpoint import Checkpoint
from veriscene.metrics.accuracy import difference, score
from veriscene.metrics.judged import Orders, reordered_share, with_other_statements
from veriscene.models import Model, Order
from veriscene.models.base import INFERENCE_BATCH, judge_in_batches
from veriscene.models.biatt_pointer import BiATTPointer, sampled
from veriscene.world.corpus import split_file
from veriscene.world.examples import Example
from veriscene.world.scene import Box, Item, Scene
from veriscene.world.schema import World

Pair = tuple[int, int]


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


def corpora(checkpoint: Checkpoint, examples: Sequence[Example], *, draws: int) -> dict[str, list[Batch]]:
    """The examples in each order, and in `draws` random orders."""
    by_order = {
        order.value: [replace(checkpoint.encoder, order=order)(examples)]
        for order in (ItemOrder.FILE, ItemOrder.SORTED)
    }
    (file,), generator = by_order[ItemOrder.FILE.value], torch.Generator().manual_seed(0)
    items = required(file.items)
    keys = (torch.rand(items.features.shape[:3], generator=generator) for _ in range(draws))
    return {**by_order, ItemOrder.RANDOM.value: [replace(file, items=items.shuffled(key)) for key in keys]}


# ---------------------------------------------------------------- what a pointer's order depends on


def chosen(model: BiATTPointer, corpus: Batch) -> Tensor:
    """The item of the batch that is read at each place, (example, box, place)."""
    order = required(corpus.items).given_order.clone()
    for numbers, _, judgement in judge_in_batches(model, corpus):
        found = required(judgement.order)
        order[numbers, :, : found.size(2)] = found
    return order


def in_scene(corpus: Batch, order: Tensor) -> Orders:
    """The same as indices of the scene's own items, without padding."""
    items = required(corpus.items)
    places, counts = items.positions.gather(2, order).tolist(), items.counts.tolist()
    return [
        [box[:count] for box, count in zip(boxes, of_boxes, strict=True)]
        for boxes, of_boxes in zip(places, counts, strict=True)
    ]


def reversed_items(corpus: Batch) -> Batch:
    items = required(corpus.items)
    return replace(corpus, items=items.shuffled(-items.given_order.double()))


def passed_on(example: Example) -> Example:
    """The example with the attributes of each item passed on to the next one of its box, whose place stays."""

    def box(items: Sequence[Item]) -> Box:
        givers = [*items[1:], *items[:1]]
        return Box(tuple(replace(item, values=giver.values) for item, giver in zip(items, givers, strict=True)))

    return replace(example, scene=Scene(tuple(box(each.items) for each in example.scene.boxes)))


def named_first(items: Sequence[Item], words: Sequence[str], world: World) -> Iterator[Pair]:
    """Pairs of items (first, second) that differ in values which the words name, one before the other."""
    place = {word: number for number, word in reversed(list(enumerate(words)))}
    known = [
        {
            choice.name: min(place[word] for word in (*choice.words, *choice.plural) if word in place)
            for choice in attribute.choices
            if any(word in place for word in (*choice.words, *choice.plural))
        }
        for attribute in world.attributes
    ]
    for one, other in combinations(range(len(items)), 2):
        values = zip(known, items[one].values, items[other].values, strict=True)
        signs = {at[a] < at[b] for at, (_, a), (_, b) in values if a != b and a in at and b in at}
        if len(signs) == 1:  # else nothing tells them apart, or colours and shapes are named in opposite orders
            yield (one, other) if signs.pop() else (other, one)


def agreement(orders: Orders, pairs: Sequence[Sequence[Sequence[Pair]]]) -> float:
    """The share of all pairs whose first item is read before the second."""
    agreed = [
        order.index(first) < order.index(second)
        for boxes in zip(orders, pairs, strict=True)
        for order, some in zip(*boxes, strict=True)
        for first, second in some
    ]
    return sum(agreed) / max(1, len(agreed))


def pairs_of(orders: Orders) -> list[list[list[Pair]]]:
    return [[list(combinations(order, 2)) for order in boxes] for boxes in orders]


def dependence(checkpoint: Checkpoint, examples: Sequence[Example]) -> dict[str, float]:
    """What the orders of a pointer change with, and what they agree with."""
    model, world = checkpoint.model, checkpoint.encoder.world
    assert isinstance(model, BiATTPointer)

    def orders(corpus: Batch) -> Orders:
        return in_scene(corpus, chosen(model, corpus))

    in_file = replace(checkpoint.encoder, order=ItemOrder.FILE)
    corpus, file, ordered = checkpoint.encode(examples), in_file(examples), replace(in_file, order=ItemOrder.SORTED)
    own, of_file, by_place = orders(corpus), orders(file), ordered(examples)
    named = [
        [list(named_first(box.items, tokenize(example.statement), world)) for box in example.scene.boxes]
        for example in examples
    ]
    return {
        "changes with the statement": reordered_share(own, orders(checkpoint.encode(with_other_statements(examples)))),
        "changes with the encoder's order": reordered_share(of_file, orders(reversed_items(file))),
        "changes with the items": reordered_share(of_file, orders(in_file([passed_on(each) for each in examples]))),
        "agrees with the encoder": agreement(own, pairs_of(in_scene(corpus, required(corpus.items).given_order))),
        "agrees with sorted items": agreement(own, pairs_of(in_scene(by_place, required(by_place.items).given_order))),
        "agrees with the statement": agreement(own, named),
    }


# ---------------------------------------------------------------- the report


def measure(name: str, checkpoint: Checkpoint, examples: Sequence[Example], *, draws: int) -> dict[str, float]:
    """Returns accuracies by order, shares, and the difference between the model's own order and random ones."""
    model = checkpoint.model
    if model.order is Order.NONE:
        raise InputError(f"{checkpoint.config.model.name} does not depend on the order of items", where=name)
    reader = model.comprehension if isinstance(model, BiATTPointer) else model
    corpus = checkpoint.encode(examples)
    own = verdicts(model, examples, corpus)
    by_order = corpora(checkpoint, examples, draws=draws)
    if isinstance(model, BiATTPointer):
        items, other = required(corpus.items), checkpoint.encode(with_other_statements(examples))
        read = replace(corpus, items=items.reordered(chosen(model, corpus)))
        by_order["reversed"] = [reversed_items(read)]
        by_order["other statement's"] = [replace(corpus, items=items.reordered(chosen(model, other)))]
    judged = {order: [verdicts(reader, examples, each) for each in some] for order, some in by_order.items()}
    found = {"own": score(examples, own).accuracy}
    for order, all_draws in judged.items():
        found[order] = sum(score(examples, one).accuracy for one in all_draws) / len(all_draws)
    gap = difference(examples, [own], judged[ItemOrder.RANDOM.value])
    found |= {"own minus random": gap.mean, "… at least": gap.interval[0], "… at most": gap.interval[1]}
    return found | (dependence(checkpoint, examples) if isinstance(model, BiATTPointer) else {})


def report(
    name: str, checkpoint: Checkpoint, examples: Sequence[Example], *, draws: int, say: Callable[[str], None]
) -> dict[str, float]:
    found = {key: 100 * value for key, value in measure(name, checkpoint, examples, draws=draws).items()}
    say(f"{name}: {checkpoint.config.model.name}")
    for key, value in found.items():
        say(f"  {key:<33} {value:.1f}")
    if isinstance(checkpoint.model, BiATTPointer):
        mean, uniform = log_probabilities(checkpoint.model, checkpoint.encode(examples))
        say(f"  mean log p of a sampled order     {mean:.2f}; uniform would be {uniform:.2f}")
        found |= {"log p": mean, "log p if uniform": uniform}
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("nlvr", type=Path)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead, by model")
    given = parser.parse_args(arguments)
    if given.draws < 1:
        raise InputError("at least one random order is needed", where=f"--draws {given.draws}")
    examples = worlds.read(split_file(given.nlvr, "dev"))
    say: Callable[[str], None] = (lambda _: None) if given.json else print
    found = {name: report(name, checkpoints.load(name), examples, draws=given.draws, say=say) for name in given.models}
    if given.json:
        print(json.dumps(found))


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"orders.py: {error}")
