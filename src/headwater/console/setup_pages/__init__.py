"""Setup state and data quality of a Space."""
