"""PostgreSQL: connections, the embedded server, named statements and migrations."""
