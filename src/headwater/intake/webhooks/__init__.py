"""Inbound webhooks from other services."""
