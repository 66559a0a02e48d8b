"""Pages of what brings orders in: webhooks, their deliveries, and imports of files."""
