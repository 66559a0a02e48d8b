"""Pages of connections that bring spend."""
