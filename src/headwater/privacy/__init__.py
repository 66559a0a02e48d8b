"""Erase people: the declared personal columns, and the job."""
