"""Charts of report pages, and their notes."""
