"""The Triton kernel chooses the items that torch's operations choose: interpreted without a GPU, compiled on one."""

from __future__ import annotations

import os
from importlib.util import find_spec

import pytest
import torch
from torch import Tensor
from toy import batch_of, mixed_toys, toy_model

from veriscene.models.biatt_pointer import greedy, sampler
from veriscene.models.layers import kernels

if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")  # Triton reads it when it is imported
if HAS_TRITON := find_spec("triton") is not None:
    from veriscene.models.layers import fused_pointing


def chosen_by_torch(
    place: int, s: Tensor, own: Tensor, word_keys: Tensor, word_values: Tensor, mask: Tensor, keys: Tensor, free: Tensor
) -> Tensor:
    """The scores of the items that are left, (batch, box, item)."""
    attention = torch.einsum("bjd,btd->bjt", s, word_keys).masked_fill(~mask, -torch.inf).softmax(dim=-1)
    pointing = torch.einsum("bjd,bjkd->bjk", torch.tanh(attention @ word_values + own), keys)
    return pointing.masked_fill(~free, -torch.inf)


@pytest.mark.parametrize("sizes", [(5, 3, 21, 8, 40), (3, 2, 5, 3, 64), (2, 1, 40, 15, 96), (4, 3, 16, 1, 16)])
@pytest.mark.parametrize("noisy", [False, True])
def test_the_kernel_chooses_what_torch_chooses(sizes: tuple[int, ...], noisy: bool) -> None:
    if not HAS_TRITON:
        pytest.skip("Triton is not installed")
    if not torch.cuda.is_available() and hasattr(fused_pointing._choose, "device_caches"):
        pytest.skip("Triton compiles kernels in this process and does not interpret them")
    (batch, boxes, words, items, hidden), device = sizes, "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    counts, lengths = torch.randint(1, items + 1, (batch, boxes)), torch.randint(1, words + 1, (batch,))
    mask = (torch.arange(words) < lengths[:, None])[:, None]
    keys, gates = torch.randn(batch, boxes, items, hidden), torch.randn(batch, boxes, items, 4 * hidden)
    word_keys, word_values = torch.randn(2, batch, words, hidden) / 2
    noise = torch.randn(batch, boxes, items, items) if noisy else None
    order, slots = torch.full((batch, boxes, items), -1, device=device), torch.arange(items)
    free = slots < counts[..., None]
    for place in range(items):
        s, own = torch.randn(2, batch, boxes, hidden)
        tensors = (s, own, word_keys, word_values, mask, keys, counts, gates, noise)
        moved = (None if tensor is None else tensor.to(device) for tensor in tensors)
        next_gates = fused_pointing.choose(place, *moved, order)
        allowed = free | ((slots == place) & (place >= counts)[..., None])
        scores = chosen_by_torch(place, s, own, word_keys, word_values, mask, keys, allowed)
        best = (scores if noise is None else scores + noise[:, :, place]).argmax(dim=-1)
        assert order[:, :, place].equal(best.to(device))
        expected = gates.gather(2, best[..., None, None].expand(-1, -1, 1, 4 * hidden)).flatten(0, 2)
        assert next_gates.equal(expected.to(device))
        free = free & (slots != best[..., None])


@pytest.mark.gpu
@pytest.mark.parametrize("training", [False, True])
def test_a_pointer_reads_the_same_order_with_and_without_the_kernel(
    training: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = batch_of(mixed_toys(seed=8), more_items=2).to("cuda")
    model = toy_model("biatt-pointer", seed=9, dropout=0.5).to("cuda").train(training)
    noise = sampler(torch.zeros((*batch.items.features.shape[:3], 1), device="cuda"))
    for choose in (greedy, noise):
        found = []
        for enabled in (True, False):
            monkeypatch.setattr(kernels, "enabled", enabled)
            torch.manual_seed(3)
            found.append(model.judge(batch, choose))
        with_kernel, without = found
        assert with_kernel.order.equal(without.order)
        torch.testing.assert_close(with_kernel.log_probability, without.log_probability, atol=1e-4, rtol=1e-4)
