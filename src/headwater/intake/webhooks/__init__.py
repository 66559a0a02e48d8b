"""Inbound webhooks: what other services report, checked, mapped and accepted as events."""
