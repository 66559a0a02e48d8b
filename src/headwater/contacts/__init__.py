"""Contacts as stored rows."""
