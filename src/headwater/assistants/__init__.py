"""The MCP server and its OAuth authorization server."""
