"""The ad catalogue: what the ids of ad platforms are called."""
