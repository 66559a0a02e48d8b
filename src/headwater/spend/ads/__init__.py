"""The ad catalogue: names for the ids of ad platforms."""
