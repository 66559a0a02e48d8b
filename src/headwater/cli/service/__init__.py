"""Commands that run and maintain the service."""
