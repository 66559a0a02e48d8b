"""Metrics and traces for the operator of an installation."""
