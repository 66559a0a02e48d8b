"""Data problems and setup of a Space, for every page and tool."""
