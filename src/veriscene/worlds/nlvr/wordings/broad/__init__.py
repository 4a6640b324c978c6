"""The level "broad": what NLVR's writers say beyond the level "full", and how they say it."""
