"""The one way a command tells that it could not be done."""


class Failure(Exception):
    """Told to the person as one line on standard error, with exit code 2."""
