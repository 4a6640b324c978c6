"""What a word's letters say about it."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from veriscene.data.letters import CODES

LETTER, WIDTH = 32, 3  # size of a letter's vector, letters that a filter sees


class SpellingCNN(nn.Module):
    """A convolution over the letters and the max over the word, so that a misspelt word keeps most of its vector."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.embed_letters = nn.Embedding(CODES, LETTER, padding_idx=0)
        self.filters = nn.Linear(WIDTH * LETTER, size)
        self.project = nn.Linear(size, size)

    def forward(self, characters: Tensor) -> Tensor:
        """(batch, word, letter), codes -> (batch, word, size)."""
        # Filters also see where a word begins and ends. One matrix product is faster than convolving such short rows.
        letters = pad(self.embed_letters(characters.long()), (0, 0, WIDTH - 1, WIDTH - 1))
        count = letters.size(2) - WIDTH + 1
        windows = torch.cat([letters[:, :, start : start + count] for start in range(WIDTH)], dim=-1)
        vectors: Tensor = self.project(torch.relu(self.filters(windows).amax(dim=2)))
        return vectors
