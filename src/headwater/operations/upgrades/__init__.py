"""The embedded PostgreSQL from one major version to the next."""
