"""Adding a report up from paths and tables."""
