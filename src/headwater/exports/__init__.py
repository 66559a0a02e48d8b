"""Exports: requested, written by a job, downloaded by a link."""
