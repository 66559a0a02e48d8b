"""File formats: encodings, dialects, numbers and times."""
