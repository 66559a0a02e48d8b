"""Where a touch came from: parameters and URLs to one of the listed sources."""
