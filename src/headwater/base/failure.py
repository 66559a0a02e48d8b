class Failure(Exception):
    """An error whose text gives the operator the reason, and often a remedy. A command prints it as one line
    on standard error, and exits with code 2. Subclasses are failures that other code distinguishes.
    """
