"""Text and scenes as tensors."""
