"""Past orders from the exports of shops."""
