"""Companies as stored rows, and the assignment of contacts to them."""
