"""The identity of contacts: matching and merging them, without I/O."""
