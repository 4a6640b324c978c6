"""A checkpoint's verdicts on examples, in one process or many."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from accelerate import Accelerator
from accelerate.utils import gather_object

from veriscene.errors import InputError
from veriscene.models.inference import judge_in_batches
from veriscene.scenes.nlvr import Example
from veriscene.training.checkpoint import Checkpoint


def probabilities(
    checkpoint: Checkpoint,
    examples: Sequence[Example],
    accelerator: Accelerator,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, float]:
    """The probability of truth by identifier, for each example exactly once, in the order of the file."""
    corpus = checkpoint.encode(examples).to(accelerator.device)
    model = checkpoint.model.to(accelerator.device)
    rank, world = accelerator.process_index, accelerator.num_processes
    judged: list[tuple[int, float]] = []
    for numbers, _, judgement in judge_in_batches(model, corpus, rank=rank, world=world):
        judged.extend(zip(numbers.tolist(), judgement.logits.sigmoid().tolist(), strict=True))
        progress(min(len(judged) * world, len(examples)), len(examples))
    if world > 1:
        judged = gather_object(judged)
    by_number = dict(judged)
    if len(judged) != len(examples) or len(by_number) != len(examples):
        raise InputError(f"{len(judged)} judgements for {len(examples)} examples; each must be judged exactly once")
    return {example.identifier: by_number[number] for number, example in enumerate(examples)}
