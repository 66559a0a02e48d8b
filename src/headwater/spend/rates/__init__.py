"""The worth of currencies, by day."""
