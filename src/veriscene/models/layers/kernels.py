"""Where our own kernels are used: on a GPU where Triton works, if they are asked for. Otherwise torch's operations do
the same.

They are off by default, because they have only been run in Triton's interpreter so far, and built for an H200.
"""

from __future__ import annotations

import os
import warnings
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import torch

enabled = os.environ.get("VERISCENE_KERNELS") == "1"


def load(name: str, device: torch.device) -> ModuleType | None:
    """Returns the module of kernels with that name in this package, or None where it cannot be used."""
    if not (enabled and device.type == "cuda" and _works(device)):
        return None
    return import_module(f"veriscene.models.layers.{name}")


@cache
def _works(device: torch.device) -> bool:
    """Tries a kernel; says why it fails. Triton comes with torch for CUDA on Linux, but needs a C compiler."""
    if find_spec("triton") is None or torch.cuda.get_device_capability(device) < (8, 0):  # no products in bf16, tf32
        return False
    try:
        import_module("veriscene.models.layers.fused_pointing").try_out(device)
    except Exception as error:  # of whichever tool is missing
        warnings.warn(f"training is slower than it could be, as Triton does not work: {error}", stacklevel=2)
        return False
    return True
