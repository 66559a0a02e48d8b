"""Deliveries of events to the ad platforms: queued, sent, tried again and recorded."""
