"""The parts that the paper's models share."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def xavier_(module: nn.Module) -> None:
    """All the trainable variables with the Xavier initialiser (appendix A.3.1); biases, which have no fan, at zero."""
    for parameter in module.parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
        else:
            nn.init.zeros_(parameter)


class BiLSTM(nn.Module):
    """A bidirectional LSTM over padded sequences, with dropout on its hidden outputs.

    The backward direction reads each sequence reversed within its own length, so padding reaches no real output
    and no lengths travel to the host (which packed sequences would ask for at each step).
    """

    def __init__(self, size: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.forwards = nn.LSTM(size, hidden, batch_first=True)
        self.backwards = nn.LSTM(size, hidden, batch_first=True)
        self.dropout = nn.Dropout(dropout)

    def forward(self, sequence: Tensor, lengths: Tensor) -> Tensor:
        """sequence (row, step, size), lengths (row,) -> (row, step, 2 hidden); beyond a row's end it means nothing."""
        reversal = reverse_within(lengths, sequence.size(1))
        ahead, _ = self.forwards(sequence)
        back, _ = self.backwards(_take_steps(sequence, reversal))
        outputs: Tensor = self.dropout(torch.cat([ahead, _take_steps(back, reversal)], dim=-1))
        return outputs


def reverse_within(lengths: Tensor, steps: int) -> Tensor:
    """(row, step): the step that mirrors each one within its row's length; padding stays where it is."""
    step = torch.arange(steps, device=lengths.device)
    return torch.where(step < lengths[:, None], lengths[:, None] - 1 - step, step)


def last_outputs(outputs: Tensor, lengths: Tensor) -> Tensor:
    """The last hidden output of each direction of a BiLSTM: (row, step, 2 hidden) -> (row, 2 hidden)."""
    ahead, back = outputs.chunk(2, dim=-1)
    rows = torch.arange(len(outputs), device=outputs.device)
    return torch.cat([ahead[rows, lengths - 1], back[:, 0]], dim=-1)


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the last dimension; exactly zero where the mask is off."""
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)


def element_max(outputs: Tensor, mask: Tensor) -> Tensor:
    """ele max over the steps that the mask admits: (…, step, dim), (…, step) -> (…, dim)."""
    return outputs.masked_fill(~mask[..., None], -torch.inf).amax(dim=-2)


def matching(own: Tensor, context: Tensor) -> Tensor:
    """[h; c; h - c; h ∘ c], equations 6 and 9."""
    return torch.cat([own, context, own - context, own * context], dim=-1)


def _take_steps(sequence: Tensor, index: Tensor) -> Tensor:
    return sequence.gather(1, index[..., None].expand(-1, -1, sequence.size(-1)))
