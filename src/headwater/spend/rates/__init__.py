"""Exchange rates by day."""
