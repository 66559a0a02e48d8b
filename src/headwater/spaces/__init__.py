"""The Space: settings, labels, API keys, and the access they give."""
