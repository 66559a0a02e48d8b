"""Process inbox rows into stored facts: the steps of one transaction."""
