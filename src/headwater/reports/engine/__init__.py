"""The engine of reports: sums from paths and tables."""
