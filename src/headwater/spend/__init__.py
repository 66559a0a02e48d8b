"""The spend ledger: what ads have cost, as the platforms report it."""
