"""Readers of what a client sends: fields, parameters, periods, pages."""
