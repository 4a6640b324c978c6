"""The words of the grammar, each paired with what it means."""
