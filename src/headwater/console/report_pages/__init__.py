"""Report pages and the bar above them."""
