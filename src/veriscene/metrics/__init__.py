"""How good a model is: accuracy, consistency, intervals, comparison, calibration."""
