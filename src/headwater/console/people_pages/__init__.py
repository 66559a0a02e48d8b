"""The console's pages of one event, of people and of companies, and the search for them."""
