"""The public API as data: a table of operations, and what is made of it."""
