"""Companies, and the assignment of contacts to them."""
