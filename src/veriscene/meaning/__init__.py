"""What a statement means. No torch here."""
