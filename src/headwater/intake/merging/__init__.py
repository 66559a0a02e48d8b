"""Merging contacts and undoing it, with their rows following each time."""
