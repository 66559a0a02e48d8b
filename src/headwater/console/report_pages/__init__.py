"""The console's pages of reports: revenue, the comparison of models, and the bar above them."""
