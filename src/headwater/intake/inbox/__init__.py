"""The queue of accepted rows."""
