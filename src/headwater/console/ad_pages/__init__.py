"""Ads: platform comparison."""
