"""How large a model may be."""

from __future__ import annotations

from veriscene.errors import InputError

# Ten times the paper's largest. A step of BiATT-Pointer with so many, at batch 256, takes 12 GB, which machines have; a
# slip of the finger asks for a hundred times as much, and a process that takes all memory is killed without a word.
MOST_WEIGHTS = 100_000_000


def check_size(weights: int, *, what: str, cure: str) -> None:
    if weights > MOST_WEIGHTS:
        raise InputError(f"{what} would have {weights:,} weights; at most {MOST_WEIGHTS:,} are allowed, so {cure}")
