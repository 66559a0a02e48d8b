"""Fits: data-driven weights of sources, estimated from the paths of a Space."""
