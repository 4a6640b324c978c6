"""What a word's letters say about it."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from veriscene.tensors.letters import CODES

LETTER, WIDTH = 32, 3  # size of a letter's vector, letters that a filter sees


class SpellingCNN(nn.Module):
    """A convolution over the letters and the max over the word, so that a misspelt word keeps most of its vector."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.embed_letters = nn.Embedding(CODES, LETTER, padding_idx=0)
        self.convolution = nn.Conv1d(
            LETTER, size, WIDTH, padding=WIDTH - 1
        )  # a filter sees where a word begins and ends
        self.project = nn.Linear(size, size)

    def forward(self, characters: Tensor) -> Tensor:
        """(batch, word, letter), codes -> (batch, word, size)."""
        letters = self.embed_letters(characters.flatten(0, 1).long()).mT
        found = torch.relu(self.convolution(letters)).amax(dim=-1)
        vectors: Tensor = self.project(found).view(*characters.shape[:2], -1)
        return vectors
