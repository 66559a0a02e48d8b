"""Process inbox rows into stored facts, batch by batch."""
