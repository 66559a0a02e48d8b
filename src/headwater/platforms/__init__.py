"""The ad platforms, one folder each."""
