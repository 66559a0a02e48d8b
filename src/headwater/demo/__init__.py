"""Two sample businesses whose journeys go through the public API."""
