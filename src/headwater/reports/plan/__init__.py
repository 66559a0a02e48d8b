"""The plan of a report: its kinds of events, groups, spans of time and selections."""
