"""Backups of the whole installation, restored without the people erased since."""
