"""Merge contacts, and undo merges."""
