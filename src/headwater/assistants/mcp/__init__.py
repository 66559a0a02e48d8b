"""The MCP resource: a Space's tools, resources and prompts."""
