"""Backups of the whole installation, and what brings one back without the people erased since."""
