"""The features of MaxEnt and MLP."""
