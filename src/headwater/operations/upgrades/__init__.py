"""Upgrades of the embedded PostgreSQL to the next major version."""
