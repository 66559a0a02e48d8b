"""Pages of events, people and companies, and the search for them."""
