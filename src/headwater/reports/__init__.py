"""Reports: events, credits and contacts in aggregate."""
