"""Accounts: users, members, roles, and the tokens of assistants."""
