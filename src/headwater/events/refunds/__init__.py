"""Money that comes back of orders: reports of it, and the refunds that follow from them."""
