"""A PostgreSQL of several nodes (Citus): which table lies where."""
