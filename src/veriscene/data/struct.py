"""A struct of tensors with one `map`, behind indexing, moving, concatenating and fingerprinting."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Self

import torch
from torch import Tensor


@dataclass(frozen=True)
class TensorStruct:
    """Fields are tensors, other structs, or None. Whatever works on all of them goes through `map`, so that a new field
    cannot be forgotten."""

    def map(self, function: Callable[..., Tensor], *others: Self) -> Self:
        """Returns the struct of function(tensor, *corresponding tensors of the others); None stays None.

        Raises ValueError if a field is None in some of the structs only.
        """

        def mapped(name: str) -> object:
            mine, *theirs = (vars(struct)[name] for struct in (self, *others))
            if any((mine is None) != (other is None) for other in theirs):
                raise ValueError(f"{name} is missing in one of the structs")
            if mine is None:
                return None
            return mine.map(function, *theirs) if isinstance(mine, TensorStruct) else function(mine, *theirs)

        return replace(self, **{field.name: mapped(field.name) for field in fields(self)})

    def tensors(self) -> list[Tensor]:
        found: list[Tensor] = []

        def collect(tensor: Tensor) -> Tensor:
            found.append(tensor)
            return tensor

        self.map(collect)
        return found

    def to(self, device: torch.device | str) -> Self:
        return self.map(lambda tensor: tensor.to(device))

    def concatenated(self, other: Self) -> Self:
        """Returns the examples of both, which must be padded alike and have the same fields."""
        return self.map(lambda mine, theirs: torch.cat([mine, theirs]), other)

    def fingerprint(self) -> int:
        """Returns a checksum that changes with any value or shape."""
        checksum = 0
        for tensor in self.tensors():
            checksum = zlib.crc32(repr(tuple(tensor.shape)).encode(), checksum)
            checksum = zlib.crc32(tensor.cpu().contiguous().numpy().tobytes(), checksum)
        return checksum
