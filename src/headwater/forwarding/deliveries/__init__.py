"""Queue, send and retry deliveries to ad platforms."""
