"""Forward conversions to ad platforms."""
