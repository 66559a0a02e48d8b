"""Accounts of ad platforms that a Space forwards its events to."""
