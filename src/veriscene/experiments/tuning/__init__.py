"""Searching for settings with optuna."""
