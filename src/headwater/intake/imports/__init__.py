"""Imports of events, touchpoints, contacts, ad names and spend from files."""
