"""The tracker: the script that pages load, and where it reports to."""
