"""The page of what comes in right now."""
