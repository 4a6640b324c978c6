"""From examples to a checkpoint."""
