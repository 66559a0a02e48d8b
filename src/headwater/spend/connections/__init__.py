"""Connections to ad accounts: what is stored of them, and the job that pulls their spend."""
