"""A checkpoint's verdicts on examples, in one process or many."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from accelerate import Accelerator

from veriscene.errors import InputError
from veriscene.models.base import judge_in_batches
from veriscene.scenes.nlvr import Example
from veriscene.training.checkpoint import Checkpoint
from veriscene.training.distributed import gathered


def probabilities(
    checkpoint: Checkpoint,
    examples: Sequence[Example],
    accelerator: Accelerator,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, float]:
    """The probability of truth by identifier, for each example exactly once, in the order of the file.

    On the checkpoint's own device; processes share the examples, and the result does not depend on their number.
    """
    corpus, world = checkpoint.encode(examples), accelerator.num_processes
    judged: list[tuple[int, float]] = []
    batches = judge_in_batches(checkpoint.model, corpus, rank=accelerator.process_index, world=world)
    for numbers, _, judgement in batches:
        judged.extend(zip(numbers.tolist(), judgement.logits.sigmoid().tolist(), strict=True))
        progress(min(len(judged) * world, len(examples)), len(examples))
    judged = gathered(accelerator, judged)
    by_number = dict(judged)
    if len(judged) != len(examples) or len(by_number) != len(examples):
        raise InputError(f"{len(judged)} judgements for {len(examples)} examples; each must be judged exactly once")
    return {example.identifier: by_number[number] for number, example in enumerate(examples)}
