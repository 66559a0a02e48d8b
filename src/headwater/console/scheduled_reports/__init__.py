"""Scheduled reports: saved views sent to channels in the Space's time zone."""
