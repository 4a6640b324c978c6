"""What the command line turns into one clear line and exit status 1."""


class InputError(Exception):
    """What the user gave is at fault. The message says what, where, and what would be right."""


def what_is_wrong(error: InputError | OSError) -> str:
    """The line for a person: of a file or folder that may not be touched, or of a full disk, what and where."""
    if isinstance(error, InputError):
        return str(error)
    return f"{error.filename or 'the system'}: {error.strerror or error}"
