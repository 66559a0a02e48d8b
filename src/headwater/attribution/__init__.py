"""The models as a table, and the one query that applies them."""
