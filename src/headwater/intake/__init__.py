"""The ways in, and the pipeline that turns accepted requests into facts."""
