"""Many scenes at once, as numpy arrays: evaluating programs, drawing scenes, small edits, near misses."""
