"""Exports of whole days and ranges as files: requested, made by a job, fetched by a link."""
