"""Changes of reports: from the previous period, and since a date with their causes."""
