"""Erasing a person: the personal columns, and the job that clears them in everything stored."""
