"""Accept the requests of GA4's Measurement Protocol."""
