"""Tests of sites: one visit followed from the page to the order, and what is missing on the way."""
