"""Inbox rows to stored facts: a named list of steps in one transaction."""
