"""Why a figure has changed: the reports of change."""
