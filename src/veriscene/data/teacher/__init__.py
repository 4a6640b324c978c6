"""A teacher: new labelled scenes for its statements in each epoch. Only source.py needs torch."""
