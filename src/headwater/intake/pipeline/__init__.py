"""Process inbox rows into stored facts: a list of steps in one transaction."""
