"""People with accounts: who they are, what they may do, and the tokens of their assistants."""
