"""The audit log: who changed settings, access and stored records, from where, and by which way in."""
