"""`veriscene bench kernels`: both sides take the same steps, and what is switched off comes back."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
import torch

from samples import yellow_circle_examples
from scripts import script
from veriscene.models.layers import kernels

bench = script("kernels")
SMALL = ("model.embedding=4", "model.hidden=6", "model.joint=6", "model.mlp=5")


@pytest.mark.parametrize("preset", sorted({preset for preset, *_ in bench.CASES}))
def test_both_sides_are_measured_and_no_profile_is_made_up_on_a_cpu(
    preset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench.speed, "SECONDS_PER_TURN", 0.0)
    examples, cpu = yellow_circle_examples(8), torch.device("cpu")
    gain = bench.measure(preset, examples, batch=4, precision="tf32", repeats=2, device=cpu, changes=SMALL)
    assert gain.spread[0] <= gain.ratio <= gain.spread[1] and gain.examples_per_second > 0 < gain.without
    assert not gain.kernels and not gain.kernels_without
    assert json.loads(json.dumps(asdict(gain)))["batch"] == 4 and f"ratio {gain.ratio:.2f}" in bench.describe(gain)


@pytest.mark.parametrize("enabled", [False, True])
def test_kernels_are_switched_within_the_context_only(enabled: bool) -> None:
    before = kernels.enabled
    with pytest.raises(ZeroDivisionError), bench.kernels_are(enabled):
        assert kernels.enabled is enabled
        raise ZeroDivisionError
    assert kernels.enabled is before


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("_forward", "own kernels"),
        ("nvjet_hsh_64x32_64x16", "products"),
        ("void at::native::_fused_lstm_cell_forward<float>", "LSTM cells"),
        ("void at::native::vectorized_elementwise_kernel<4, at::native::direct_copy_kernel_cuda>", "copies and casts"),
        ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add>", "element-wise"),
        ("Memcpy DtoD (Device -> Device)", "copies and casts"),
    ],
)
def test_kernels_are_sorted_by_their_names(name: str, kind: str) -> None:
    assert next(found for found, names in bench.KINDS.items() if bench.re.search(names, name, bench.re.I)) == kind
