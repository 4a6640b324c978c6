"""The NLVR corpus as a world: its files, pixels, programs and wordings."""
