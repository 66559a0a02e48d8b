"""Stored events."""
