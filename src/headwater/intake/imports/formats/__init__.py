"""The formats of files: encodings, dialects, numbers, times."""
