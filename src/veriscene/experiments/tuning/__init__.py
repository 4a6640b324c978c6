"""Hyperparameter search with optuna."""
