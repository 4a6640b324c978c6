"""Settings of experiments: a preset with changes."""

from __future__ import annotations

from veriscene import models
from veriscene.config import Changes, Config


def configure(preset: str, changes: Changes) -> Config:
    """The preset with these changes; raises InputError unless such a model can be built and trained."""
    config = models.load_preset(preset, changes)
    models.check(config.model)
    return config
