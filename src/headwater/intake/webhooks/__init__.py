"""Inbound webhooks: verify, map and accept events from other services."""
