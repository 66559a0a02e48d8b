"""How files are written: encodings, dialects, numbers, times."""
