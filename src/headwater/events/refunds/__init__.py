"""Refunds: reports of returned money, and the refunds derived from them."""
