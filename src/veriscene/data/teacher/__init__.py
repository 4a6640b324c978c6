"""A teacher: new labelled scenes for its statements in each epoch. None of it needs torch."""
