"""Visits: page views, where they begin and what brought them."""
