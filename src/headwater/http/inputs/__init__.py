"""Readers of client input: fields, parameters, periods, pages."""
