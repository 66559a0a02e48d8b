"""The people behind the events: identity, contacts, companies."""
