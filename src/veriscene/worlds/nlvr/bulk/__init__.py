"""Random NLVR scenes in bulk."""
