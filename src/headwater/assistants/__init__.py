"""AI assistants: MCP, and the OAuth server that admits them."""
