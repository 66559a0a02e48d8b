"""Whole days and ranges as files: asked for, made by a job, fetched by a link."""
