"""Events on their way to the ad platforms: what is queued, sent, tried again and written down."""
