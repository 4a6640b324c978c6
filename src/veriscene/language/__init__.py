"""Programs about the scenes of any world: typed expressions, their text, evaluation on one scene and in bulk."""
