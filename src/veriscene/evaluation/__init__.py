"""How good a model is, and what that looks like."""
