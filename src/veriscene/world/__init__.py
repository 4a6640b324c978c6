"""What a scene is, and the files that scenes and examples are stored in. Does not import torch."""
