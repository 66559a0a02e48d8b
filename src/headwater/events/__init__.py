"""Stored events: reading, changing and deleting them."""
