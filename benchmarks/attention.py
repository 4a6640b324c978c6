"""Does a trained model look at some items and words more than at others?

    python benchmarks/attention.py NLVR MODEL [MODEL …]

For each MODEL (a run, a checkpoint): how evenly its words spread their attention over the items of a box on dev, and
its items over the words. 1 is evenly, as if there were no attention; 0 is all on one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from veriscene.errors import InputError
from veriscene.models.inference import judge_in_batches
from veriscene.scenes import nlvr
from veriscene.scenes.nlvr import Example
from veriscene.training import checkpoint as checkpoints
from veriscene.training.checkpoint import Checkpoint


def evenness(weights: Tensor, choices: Tensor) -> Tensor:
    """weights (…, choice), of which the first `choices` (…) are real: the entropy as a share of the largest."""
    return torch.special.entr(weights).sum(dim=-1) / choices.log()


def mean_evenness(checkpoint: Checkpoint, examples: Sequence[Example]) -> dict[str, float]:
    """By who looks, as far as anybody does; where there is nothing to choose from, in a box with one item, nobody."""
    told: dict[str, list[Tensor]] = {"words": [], "items": []}
    for _, batch, judgement in judge_in_batches(checkpoint.model, checkpoint.encode(examples)):
        words, items = batch.lengths[:, None, None], batch.counts[..., None]
        if judgement.alpha is not None:
            asked = batch.word_mask[:, None] & (items > 1)
            told["words"].append(evenness(judgement.alpha, items)[asked])
        if judgement.beta is not None:
            asked = batch.item_mask & (words > 1)
            told["items"].append(evenness(judgement.beta, words)[asked])
    asked_at_all = {looking: torch.cat(parts) for looking, parts in told.items() if parts}
    return {looking: figures.mean().item() for looking, figures in asked_at_all.items() if len(figures)}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("nlvr", type=Path)
    parser.add_argument("models", nargs="+")
    given = parser.parse_args(arguments)
    examples = nlvr.read(nlvr.split_file(given.nlvr, "dev"))
    for name in given.models:
        checkpoint = checkpoints.load(name)
        told = mean_evenness(checkpoint, examples)
        if not told:
            raise InputError(f"{name}: {checkpoint.config.model.name} has no attention, or nothing to choose from")
        figures = ", ".join(f"{looking} {figure:.2f}" for looking, figure in told.items())
        print(f"{name}: {checkpoint.config.model.name}, evenness of {figures}")


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"attention.py: {error}")
