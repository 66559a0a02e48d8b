"""The queue between accepting and storing: what was accepted waits here until it is processed."""
