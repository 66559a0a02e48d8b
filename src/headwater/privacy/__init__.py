"""Erasure of people: the declared personal columns, and the job that clears them."""
