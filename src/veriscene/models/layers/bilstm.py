"""Bidirectional LSTMs over padded sequences, and the paper's initialisation."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from veriscene.models.layers.recurrence import bilstm


class BiLSTM(nn.Module):
    """A bidirectional LSTM with dropout on its hidden outputs.

    The backward direction reads each sequence reversed within its own length, so padding never reaches a real output,
    and no lengths are copied to the host at each step, as packed sequences would need.
    """

    def __init__(self, size: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.forwards = nn.LSTM(size, hidden, batch_first=True)
        self.backwards = nn.LSTM(size, hidden, batch_first=True)
        self.dropout = nn.Dropout(dropout)

    def forward(self, sequence: Tensor, lengths: Tensor) -> Tensor:
        """sequence (row, step, size), lengths (row,) -> (row, step, 2 hidden); undefined beyond a row's length."""
        outputs: Tensor = self.dropout(self.read(sequence, lengths))
        return outputs

    def read(self, sequence: Tensor, lengths: Tensor) -> Tensor:
        """The hidden outputs before dropout."""
        return bilstm(self.forwards, self.backwards, sequence, lengths)


def last_outputs(outputs: Tensor, lengths: Tensor) -> Tensor:
    """The last hidden output of each direction of a BiLSTM: (row, step, 2 hidden) -> (row, 2 hidden)."""
    ahead, back = outputs.chunk(2, dim=-1)
    rows = torch.arange(outputs.size(0), device=outputs.device)
    return torch.cat([ahead[rows, lengths - 1], back[:, 0]], dim=-1)


def xavier_(module: nn.Module, *, forget_bias: float = 0.0) -> None:
    """Xavier for all weights (appendix A.3.1), zero for biases; LSTM forget gates start at `forget_bias`."""
    for name, parameter in module.named_parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
        else:
            nn.init.zeros_(parameter)
        if name.rpartition(".")[2].startswith("bias_ih"):
            _, forget, _, _ = parameter.detach().chunk(4)
            forget.fill_(forget_bias)
