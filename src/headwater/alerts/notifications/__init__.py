"""Notification channels of a Space and the messages to them."""
