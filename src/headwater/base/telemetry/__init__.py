"""The figures and traces of an installation, for those who operate it: counters and spans."""
