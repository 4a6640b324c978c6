"""What every model says about a batch."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Judgement:
    logits: Tensor  # (batch,): log-odds that the statement is true
    scores: Tensor | None  # (batch, box): the logit if all three boxes looked like this one; may be None in training
    order: Tensor  # (batch, box, item): the item of the batch that was read at each place
    alpha: Tensor | None = None  # (batch, box, word, place): how much each word looks at each item read
    beta: Tensor | None = None  # (batch, box, place, word): how much each item read looks at each word
    log_probability: Tensor | None = None  # (batch,): log p(π | s, o) of a sampled order
    baseline_logits: Tensor | None = None  # (batch,): the logits of inference, for the self-critical baseline
