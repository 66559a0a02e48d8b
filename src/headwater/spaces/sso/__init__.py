"""Single sign-on: OpenID Connect providers of the installation, and the users they vouch for."""
