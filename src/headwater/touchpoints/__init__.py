"""Moments at which a source brought somebody: what one is, and the table of them."""
