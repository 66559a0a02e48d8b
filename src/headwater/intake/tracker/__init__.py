"""The tracker: the script that pages load, and the endpoint that it reports to."""
