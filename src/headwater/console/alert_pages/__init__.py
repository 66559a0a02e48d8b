"""Pages of alerts: what is open and what was, the rules, the channels, and scheduled reports."""
