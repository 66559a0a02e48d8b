"""Tagged links: build, check and explain them."""
