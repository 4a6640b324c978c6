"""What a statement means: programs, their language, and a generator of statements. Does not import torch."""
