"""Classify touches: from URLs, referrers and parameters to one of the listed sources."""
