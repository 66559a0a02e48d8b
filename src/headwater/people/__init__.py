"""Contacts, their identity, and companies."""
