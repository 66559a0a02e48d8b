"""Pages that show whether a Space is connected, and what spoils its figures."""
