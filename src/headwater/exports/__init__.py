"""Exports of days and ranges as files: requested, written by a job, downloaded by a link."""
