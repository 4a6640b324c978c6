"""The parts that the paper's models share."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from veriscene.models.layers.recurrence import bilstm


def xavier_(module: nn.Module, *, forget_bias: float = 0.0) -> None:
    """All the trainable variables with the Xavier initialiser (appendix A.3.1); biases, which have no fan, at zero.

    But LSTMs may begin with forget gates that are further open, which is what `forget_bias` is for.
    """
    for name, parameter in module.named_parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
        else:
            nn.init.zeros_(parameter)
        if name.rpartition(".")[2].startswith("bias_ih"):
            _, forget, _, _ = parameter.detach().chunk(4)
            forget.fill_(forget_bias)


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
        outputs: Tensor = self.dropout(self.read(sequence, lengths))
        return outputs

    def read(self, sequence: Tensor, lengths: Tensor) -> Tensor:
        """The hidden outputs before dropout."""
        return bilstm(self.forwards, self.backwards, sequence, lengths)


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


def matching(weight: Tensor, own: Tensor, context: Tensor) -> Tensor:
    """relu(W [h; c; h - c; h ∘ c]), equations 6 and 9.

    W is taken apart, so that the four are nowhere laid side by side, and what depends on h alone is computed once for
    all boxes that share it.
    """
    first, second, difference, product = weight.chunk(4, dim=1)
    return torch.relu(
        linear(own, first + difference) + linear(context, second - difference) + linear(own * context, product)
    )
