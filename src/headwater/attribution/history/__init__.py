"""The past of what reports are made of: changes, counted, and rows as they were before them."""
