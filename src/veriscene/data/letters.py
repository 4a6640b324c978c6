"""Words as letters, for models that read spelling: misspelt words are unknown as words, but not as letters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

# Fixed, so that batches of any examples have the same shape. Longer words keep their beginning; the longest of NLVR has
# eleven letters.
MOST_LETTERS = 16
CODES = 128  # ASCII; zero beyond a word's end
FOREIGN = 127  # of every other character


def spell(words: Sequence[str]) -> Tensor:
    """(word, MOST_LETTERS), uint8: the code of each letter; only the first MOST_LETTERS of a longer word."""
    text = "".join(word[:MOST_LETTERS].ljust(MOST_LETTERS, "\0") for word in words)
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32).reshape(len(words), MOST_LETTERS)
    return torch.from_numpy(np.where(codes < CODES, codes, FOREIGN).astype(np.uint8))
