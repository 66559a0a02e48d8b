"""Pages of second factors: of a login, of a session, and their set-up."""
