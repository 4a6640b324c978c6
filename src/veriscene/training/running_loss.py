"""The sum of the losses, and which batch made it infinite or NaN."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from veriscene.training.source import Epoch

MAX_STEPS = 4096  # between two reads of the sum
SHOWN_NAMES = 64


class NotFinite(Exception):
    """Some losses are not finite: those of the last `steps` steps. `names` tells the first one's examples."""

    def __init__(self, steps: int, names: str) -> None:
        super().__init__(names)
        self.steps, self.names = steps, names


class RunningLoss:
    """Keeps the sum after each step on the device, in one addition, and reads it only when it is asked for."""

    def __init__(self, start: float, device: torch.device) -> None:
        self.sums = torch.full((MAX_STEPS + 1,), start, dtype=torch.float64, device=device)
        self.places = self.sums.unbind()
        self.batches: list[tuple[Epoch, Tensor]] = []  # since the last read: the epoch, and the indices in it

    @property
    def is_full(self) -> bool:
        return len(self.batches) == MAX_STEPS

    def add(self, loss: Tensor, epoch: Epoch, numbers: Tensor) -> None:
        at = len(self.batches)
        torch.add(self.places[at], loss, out=self.places[at + 1])
        self.batches.append((epoch, numbers))

    def read(self) -> float:
        """Waits for the device. Raises NotFinite if the sum is not finite."""
        last = self.places[len(self.batches)]
        value = float(last)
        if not math.isfinite(value):
            finite = int(self.sums[: len(self.batches) + 1].isfinite().sum())  # what follows is not finite either
            if not finite:
                raise NotFinite(len(self.batches), "")
            epoch, numbers = self.batches[finite - 1]
            raise NotFinite(len(self.batches) - finite, _listed(epoch.names(numbers)))
        self.places[0].copy_(last)
        self.batches.clear()
        return value

    def reset(self) -> None:
        self.places[0].zero_()
        self.batches.clear()


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    return ", ".join(names[:SHOWN_NAMES]) + more
