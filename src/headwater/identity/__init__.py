"""Who did it: matching and merging, decided purely."""
