"""The history behind reports: numbered changes, and rows in their old form."""
