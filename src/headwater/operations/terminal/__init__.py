"""The common parts of commands: declaration, execution, database connection and output."""
