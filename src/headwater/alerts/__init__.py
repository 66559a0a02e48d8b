"""Alerts of a Space: current problems, unusual figures, and the history of both."""
