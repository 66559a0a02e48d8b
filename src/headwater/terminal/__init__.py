"""What commands share: how one is declared and run, how it reaches the database, and what it
prints. It knows Spaces' keys and errors, and no command.
"""
