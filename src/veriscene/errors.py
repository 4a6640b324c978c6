"""The one exception that the command line turns into one clear line and exit status 1."""


class InputError(Exception):
    """What the user gave is at fault. The message says what, where, and what would be right."""
