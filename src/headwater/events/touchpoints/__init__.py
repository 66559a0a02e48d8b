"""Moments at which a source brought somebody: their model and their tables."""
