"""Second factors of users: an authenticator app, passkeys, and recovery codes."""
