"""The first page of a Space."""
