"""Erasing a person: what is personal, and the job that takes it out of everything stored."""
