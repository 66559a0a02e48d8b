"""Alerts: open and past, rules, channels and scheduled reports."""
