"""The queue of accepted rows to process."""
