"""Visits, their page views and their sources."""
