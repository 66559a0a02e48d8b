"""The tracking script, and the endpoint it reports to."""
