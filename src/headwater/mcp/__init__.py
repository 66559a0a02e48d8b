"""The MCP resource: what assistants can ask and do in a Space."""
