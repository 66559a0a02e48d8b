"""The reports of change: how much each cause has changed a figure."""
