"""A model at work for a person or a program."""
