"""Everything that leaves for other hosts goes through here."""
