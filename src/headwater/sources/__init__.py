"""Classify touches by URLs, referrers and parameters."""
