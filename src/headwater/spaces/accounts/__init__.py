"""People with accounts: users, members and roles, and the tokens of their assistants."""
