"""Companies as stored rows, and how contacts are grouped into them."""
