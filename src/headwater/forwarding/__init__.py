"""Events on their way to the ad platforms."""
