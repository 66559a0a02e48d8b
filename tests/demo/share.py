"""How much smaller the demonstration of an ordinary run is."""

SHARE = 8
"""One in so many of those who only pass by is there."""
