"""Watched files: reports at an address, imported when they change."""
