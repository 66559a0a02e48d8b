"""The MCP resource: the tools, resources and prompts of a Space for assistants."""
