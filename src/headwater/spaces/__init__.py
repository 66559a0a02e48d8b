"""The Space: settings, labels, API keys and access."""
