"""Files of events, touchpoints, contacts and ad names, brought in at a terminal or uploaded."""
