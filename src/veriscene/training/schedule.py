"""The learning rate over a run."""

from __future__ import annotations

from veriscene.config import TrainingConfig


def learning_rate(settings: TrainingConfig, step: int, total_steps: int) -> float:
    """Fixed, as in the paper; with warm-up and cool-down where a preset asks for them."""
    up = min(1.0, (step + 1) / settings.warmup) if settings.warmup else 1.0
    cooling = settings.cooldown * total_steps
    down = min(1.0, (total_steps - step) / cooling) if cooling else 1.0
    return settings.learning_rate * min(up, down)
