"""English statements with their programs, for any world; the words come from the world."""
