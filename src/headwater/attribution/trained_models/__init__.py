"""Trained models: weights of sources, estimated from a Space's paths."""
