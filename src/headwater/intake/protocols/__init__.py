"""What the endpoints that speak other companies' protocols share."""
