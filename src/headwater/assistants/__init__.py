"""AI assistants: the MCP server and its OAuth authorization server."""
