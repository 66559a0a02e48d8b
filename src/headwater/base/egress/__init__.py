"""The one way out: every request to another company's server."""
