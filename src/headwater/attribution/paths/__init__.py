"""The paths to events as packed columns: derived data that reports are computed from."""
