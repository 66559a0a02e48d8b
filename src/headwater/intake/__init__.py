"""The ways in, and the pipeline that makes facts of what came in."""
