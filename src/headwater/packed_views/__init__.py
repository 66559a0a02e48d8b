"""Page views that are old enough to be kept together, a visit's in one row."""
