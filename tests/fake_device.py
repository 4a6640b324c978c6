"""An accelerator without hardware: tensors on the torch device "fake" are computed on the CPU.

As on a GPU, an operation on tensors of two devices raises, except with 0-dimensional CPU tensors and in copies.
Registering a device changes the whole process, so tests use it in a process of their own.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.utils import backend_registration
from torch.utils._pytree import tree_flatten, tree_map

NAME = "fake"
IS_SUPPORTED = hasattr(backend_registration, "_setup_privateuseone_for_python_backend")
_COPIES = {torch.ops.aten.copy_.default, torch.ops.aten._to_copy.default, torch.ops.aten._copy_from.default}


class DeviceTensor(Tensor):
    """`held` has the values, in a CPU tensor."""

    held: Tensor

    @staticmethod
    def __new__(cls, held: Tensor) -> DeviceTensor:
        made: DeviceTensor = Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls, held.shape, strides=held.stride(), dtype=held.dtype, device=torch.device(NAME, 0)
        )
        made.held = held
        return made

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"{NAME}:{self.held!r}"

    def tolist(self) -> Any:  # torch implements it in C++, for its own tensors only
        return self.held.tolist()

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return run(function, args, kwargs or {})


def run(function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Computes on the CPU; the result is on the fake device unless a `device` argument says otherwise."""
    given = tree_flatten((args, kwargs))[0]
    if function not in _COPIES:
        strangers = [x for x in given if isinstance(x, Tensor) and not isinstance(x, DeviceTensor) and x.dim() > 0]
        if strangers and any(isinstance(x, DeviceTensor) for x in given):
            raise RuntimeError(f"{function}: Expected all tensors to be on the same device, but found {NAME} and cpu")
    target = torch.device(kwargs.get("device") or NAME)
    if "device" in kwargs:
        kwargs = {**kwargs, "device": "cpu"}
    args, kwargs = tree_map(lambda x: x.held if isinstance(x, DeviceTensor) else x, (args, kwargs))
    if function is torch.ops.aten._copy_from.default:
        return args[1].copy_(args[0])
    with torch.inference_mode(False):  # views of inference tensors cannot be wrapped
        result = function(*args, **kwargs)
        if function is torch.ops.aten.copy_.default:
            return given[0]
        return tree_map(lambda x: DeviceTensor(x) if isinstance(x, Tensor) and target.type == NAME else x, result)


def register() -> torch.device:
    """Makes the device known to torch; call it once in a process."""
    backend_registration._setup_privateuseone_for_python_backend(NAME)
    global libraries  # their registrations last as long as they do
    libraries = torch.library.Library("_", "IMPL"), torch.library.Library("aten", "IMPL")
    fallback, aten = libraries
    fallback.fallback(lambda function, *args, **kwargs: run(function, args, kwargs), "PrivateUse1")
    for function in (torch.ops.aten.empty_strided.default, *_COPIES):  # torch.tensor does not reach the fallback
        implementation = partial(_run, function)
        aten.impl(function._name.removeprefix("aten::"), implementation, "PrivateUse1")
    return torch.device(NAME, 0)


def _run(function: Any, *args: Any, **kwargs: Any) -> Any:
    return run(function, args, kwargs)
