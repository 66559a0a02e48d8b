"""The public API as data: a table of operations, and its products."""
