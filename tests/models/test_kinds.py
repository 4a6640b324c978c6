"""What is asked of a model's kind has the same answer on every Python."""

from __future__ import annotations

import inspect

import pytest
from torch import nn
from toy import toy_model

from veriscene import models


@pytest.mark.parametrize("name", ["relation-net", "bidaf", "bienc", "biatt", "biatt-pointer"])
def test_a_pointer_chooses_its_order_and_no_other_model_does(name: str) -> None:
    model = toy_model(name)
    assert models.chooses_order(model) is (name == "biatt-pointer")
    assert models.reads_in_order(model) is (name != "relation-net")


@pytest.mark.parametrize("protocol", [models.Prepared, models.Fitted])
def test_protocols_ask_for_methods_alone(protocol: type) -> None:
    # Since Python 3.12 `isinstance` does not see what a module keeps as parameter, buffer or part.
    members = [name for name in vars(protocol) if not name.startswith("_")]
    assert members and all(inspect.isfunction(getattr(protocol, name)) for name in members)
    assert not any(hasattr(nn.Module, name) for name in members)
