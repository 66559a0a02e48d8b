"""Reports on a schedule: saved views that are sent to channels by the clock of the Space."""
