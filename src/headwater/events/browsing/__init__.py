"""Visits: page views, their beginnings and their sources."""
