"""Programs on many scenes at once, as numpy arrays."""
