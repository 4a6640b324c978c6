"""One choice of the pointer's decoder as one Triton kernel: from its state to the item that is read next.

In torch a choice is some twenty kernels that depend on one another, each of which takes longer to launch than to run;
an order of eight items is chosen in eight such steps. There is no gradient: choices are only sampled or compared.

Importing this file needs Triton, which comes with torch for CUDA on Linux.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

WORDS = 16  # that are read at a time
MAX_ITEMS, MAX_HIDDEN = 32, 1024  # of a box; beyond these a program has too few registers


def fits(keys: Tensor) -> bool:
    """Returns whether the kernel can choose among items with keys (batch, box, item, hidden) of this type and shape."""
    return keys.size(2) <= MAX_ITEMS and keys.size(3) <= MAX_HIDDEN and keys.dtype in (torch.float32, torch.bfloat16)


def try_out(device: torch.device) -> None:
    """Builds and runs a kernel; raises whatever keeps Triton from doing so."""
    with torch.cuda.device(device):
        _write_one[(1,)](torch.zeros(1, dtype=torch.int32, device=device))


@triton.jit
def _write_one(place):  # type: ignore[no-untyped-def]
    tl.store(place, 1)


def choose(
    place: int,
    state: Tensor,
    own: Tensor,
    word_keys: Tensor,
    word_values: Tensor,
    word_mask: Tensor,
    keys: Tensor,
    counts: Tensor,
    gates: Tensor,
    noise: Tensor | None,
    order: Tensor,
) -> Tensor:
    """Writes the item at `place` into order (batch, box, place) and returns its gates (batch x box, gate).

    The decoder's state s and what is linear in it, W s: (batch, box, hidden); the words' keys and values: (batch, word,
    hidden), their mask (batch, 1, word); the items' keys (batch, box, item, hidden) and gates (batch, box, item, gate);
    counts (batch, box). The item with the largest score plus noise (batch, box, place, item) is chosen among those that
    are not in `order` yet; after a box's last item, the padding at that place.
    """
    (batch, boxes, items, hidden), words = keys.shape, word_keys.size(1)
    next_gates = gates.new_empty(batch * boxes, gates.size(-1))
    with torch.cuda.device_of(keys):  # type: ignore[no-untyped-call]
        _choose[(batch * boxes,)](
            *(state.contiguous(), own.contiguous(), word_keys.contiguous(), word_values.contiguous()),
            *(word_mask.contiguous().view(torch.uint8), keys.contiguous(), counts.contiguous(), gates.contiguous()),
            *(keys if noise is None else noise.contiguous(), order, next_gates),
            *(place, boxes, words, items),
            HIDDEN=hidden,
            GATES=gates.size(-1),
            NOISY=noise is not None,
            PLACES=order.size(2),
            ITEM_BLOCK=triton.next_power_of_2(items),
            HIDDEN_BLOCK=triton.next_power_of_2(hidden),
            GATE_BLOCK=triton.next_power_of_2(gates.size(-1)),
            WORD_BLOCK=WORDS,
        )
    return next_gates


@triton.jit(do_not_specialize=["place", "words", "items"])  # type: ignore[untyped-decorator]
def _choose(  # type: ignore[no-untyped-def]
    states,
    owns,
    word_keys,
    word_values,
    word_mask,
    keys,
    counts,
    gates,
    noise,
    order,
    next_gates,
    place,
    boxes,
    words,
    items,
    HIDDEN: tl.constexpr,
    GATES: tl.constexpr,
    NOISY: tl.constexpr,
    PLACES: tl.constexpr,
    ITEM_BLOCK: tl.constexpr,
    HIDDEN_BLOCK: tl.constexpr,
    GATE_BLOCK: tl.constexpr,
    WORD_BLOCK: tl.constexpr,
):
    row = tl.program_id(0)  # a box of an example
    example = row // boxes
    unit = tl.arange(0, HIDDEN_BLOCK)
    is_unit = unit < HIDDEN
    state = tl.load(states + row * HIDDEN + unit, is_unit, 0.0).to(tl.float32)

    # c: the mean of the words' values under softmax(s' B h). Maximum and sum are corrected as words come.
    most = tl.max(tl.full([WORD_BLOCK], -float("inf"), tl.float32), 0)
    total = tl.sum(tl.zeros([WORD_BLOCK], tl.float32), 0)
    context = tl.zeros([HIDDEN_BLOCK], tl.float32)
    for start in range(0, words, WORD_BLOCK):
        word = start + tl.arange(0, WORD_BLOCK)
        is_word = tl.load(word_mask + example * words + word, word < words, 0) != 0
        at = (example * words + word)[:, None] * HIDDEN + unit[None, :]
        both = is_word[:, None] & is_unit[None, :]
        scores = tl.sum(tl.load(word_keys + at, both, 0.0).to(tl.float32) * state[None, :], 1)
        scores = tl.where(is_word, scores, -float("inf"))
        larger = tl.maximum(most, tl.max(scores, 0))
        # Every statement has a word in the first block, so that `larger` is finite.
        weights, kept = tl.exp(scores - larger), tl.exp(most - larger)
        values = tl.load(word_values + at, both, 0.0).to(tl.float32)
        context = context * kept + tl.sum(weights[:, None] * values, 0)
        total = total * kept + tl.sum(weights, 0)
        most = larger

    # The attentional state tanh(W [c; s]), and the scores of the items that are left.
    sum_of_both = context / total + tl.load(owns + row * HIDDEN + unit, is_unit, 0.0).to(tl.float32)
    attentional = tl.where(is_unit, 2 * tl.sigmoid(2 * sum_of_both) - 1, 0.0)
    item = tl.arange(0, ITEM_BLOCK)
    at = (row * items + item)[:, None] * HIDDEN + unit[None, :]
    key = tl.load(keys + at, (item < items)[:, None] & is_unit[None, :], 0.0).to(tl.float32)
    score = tl.sum(key * attentional[None, :], 1)
    if NOISY:
        score += tl.load(noise + (row * PLACES + place) * items + item, item < items, 0.0)
    count = tl.load(counts + row)
    is_free = item < count
    for earlier in range(place):
        is_free = is_free & (item != tl.load(order + row * PLACES + earlier))
    is_free = is_free | ((item == place) & (place >= count))
    chosen = tl.argmax(tl.where(is_free, score, -float("inf")), 0)
    tl.store(order + row * PLACES + place, chosen.to(tl.int64))
    gate = tl.arange(0, GATE_BLOCK)
    its = tl.load(gates + (row * items + chosen).to(tl.int64) * GATES + gate, gate < GATES, 0.0)
    tl.store(next_gates + row * GATES + gate, its, gate < GATES)
