"""The OAuth authorization server: people admit assistants to a Space."""
