"""Charts of the report pages, and the notes on them."""
