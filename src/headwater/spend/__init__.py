"""The spend ledger: ad costs as the platforms report them."""
