"""The pipeline from inbox rows to stored facts: a list of steps in one transaction."""
