"""The endpoints of the public API, by subject: they parse, call the domains and answer."""
