"""Risks of an installation, which only its operator can remove."""
