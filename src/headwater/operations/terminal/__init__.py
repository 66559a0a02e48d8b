"""The common parts of commands: declaration, execution, connection to the database, and output.
This package depends on Spaces' keys and errors, and on no command.
"""
