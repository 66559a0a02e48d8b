"""How much smaller the demonstration in an ordinary run is."""

SHARE = 8
"""One in this many of the visitors without an order exists."""
