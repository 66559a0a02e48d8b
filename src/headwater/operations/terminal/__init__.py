"""The common parts of commands: declaration, execution, database connection and output. This package imports
no command.
"""
