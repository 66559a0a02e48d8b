"""Who did it: identity, contacts, companies."""
