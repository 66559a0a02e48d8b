"""Touchpoints: their model and their tables."""
