"""The one way out: every request of ours to somebody else's server."""
