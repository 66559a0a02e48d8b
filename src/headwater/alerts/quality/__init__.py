"""Problems that spoil a Space's figures, and its setup: one answer for every page and tool."""
