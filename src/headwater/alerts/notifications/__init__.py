"""Notifications: the channels of a Space, and the messages on their way to them."""
