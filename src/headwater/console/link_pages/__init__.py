"""Pages on where visits come from: the rules of sources, and links that they name."""
