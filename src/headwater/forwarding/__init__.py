"""Conversions on their way to the ad platforms."""
