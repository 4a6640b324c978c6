"""Tensors whose first dimension comes from the training corpus, and so out of a checkpoint."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn


def loads_any_length(module: nn.Module) -> None:
    """From now on the module's own tensors become as long as those that `load_state_dict` gives them."""
    module.register_load_state_dict_pre_hook(_take_lengths)  # type: ignore[no-untyped-call]


def _take_lengths(module: nn.Module, state: dict[str, Tensor], prefix: str, *_: Any) -> None:
    for name, own in (*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)):
        saved = state.get(prefix + name)
        if saved is not None and saved.shape[1:] == own.shape[1:]:
            own.data = own.new_empty(saved.shape)
