"""Source rules and tagged links."""
