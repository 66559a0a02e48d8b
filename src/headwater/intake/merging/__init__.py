"""Merge contacts and undo merges, moving their rows."""
