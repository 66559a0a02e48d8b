"""Events in: validation, access, and the group commit that makes them durable."""
