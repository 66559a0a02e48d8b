"""The one way in which a command says that it could not be done."""


class Failure(Exception):
    """Printed as one line on standard error; the exit code is 2."""
