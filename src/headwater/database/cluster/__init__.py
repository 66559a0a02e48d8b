"""PostgreSQL on several nodes (Citus)."""
