"""The queue of accepted rows that wait to be processed."""
