"""Accept events: validate, authorize, and commit in groups."""
