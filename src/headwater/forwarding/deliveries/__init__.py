"""Queue, send, retry and record deliveries of events to ad platforms."""
