class Failure(Exception):
    """A failure of a command, printed as one line on standard error; the exit code is 2."""
